import { afterEach, describe, expect, it } from 'vitest';

import { EchoInstance } from '../../../test/support/echo-instance.js';
import { InferenceServer } from '../../core/inference-server.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { HttpFrontend } from '../http/http-frontend.js';
import type { Restriction } from '../restricted-features.js';
import { VertexAiService, type VertexAiServiceOptions } from './vertex-ai-service.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };
const PREDICT = '/v1/endpoints/7:predict';
const HEALTH = '/v1/health';

const opened: HttpFrontend[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((frontend) => frontend.close()));
});

async function start(models: readonly string[], options: Partial<VertexAiServiceOptions> = {}) {
  const server = new InferenceServer({ name: 'triton', version: '1', logger: LOGGER });
  for (const modelName of models) {
    const tensor = { dtype: 'float32', shape: [-1] } as const;
    const config = completeModelConfig({ modelName, inputs: { x: tensor }, outputs: { y: tensor } }, 1);
    server.models.bind({ config, open: () => ({ instances: [new EchoInstance(config)] }) });
    await server.models.loadVersion(modelName, 1);
  }
  server.started();
  const service = new VertexAiService({
    server,
    maxInputSize: 1_000_000,
    predictRoute: PREDICT,
    healthRoute: HEALTH,
    defaultModel: undefined,
    restrictions: [],
    metrics: { contentType: 'text/plain; charset=utf-8', text: () => 'nv_metric 1\n' },
    ...options,
  });
  const frontend = new HttpFrontend(service, { address: '127.0.0.1', port: 0, logger: LOGGER });
  opened.push(frontend);
  const port = await frontend.start();
  return {
    frontend: service,
    call: (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init),
  };
}

const REQUEST = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 2], data: [1, 2] }] });
const ANSWER =
  '{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[1.0,2.0]}]}';

function redirect(endpoint: string): RequestInit {
  return { method: 'POST', headers: { 'X-Vertex-Ai-Triton-Redirect': endpoint } };
}

describe('the port for Vertex AI', () => {
  it('predicts with the only model there is, at the route that the environment names', async () => {
    const { frontend, call } = await start(['m']);
    expect((await call(PREDICT, { method: 'POST', body: REQUEST })).status).toBe(503);
    await frontend.started();
    const answer = await call(PREDICT, { method: 'POST', body: REQUEST });
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'application/json',
      ANSWER,
    ]);
    expect((await call(PREDICT)).status).toBe(405);
    expect((await call(HEALTH)).status).toBe(200);
    expect((await call(HEALTH, { method: 'POST' })).status).toBe(405);
  });

  it('predicts with the model that it was given', async () => {
    const { frontend, call } = await start(['m', 'n'], { defaultModel: 'm' });
    await frontend.started();
    expect(await (await call(PREDICT, { method: 'POST', body: REQUEST })).text()).toBe(ANSWER);
  });

  it.each<[string, readonly string[], string | undefined, string]>([
    [
      'several models and no default',
      ['m', 'n'],
      undefined,
      'Expect the model repository contains only a single model if default model is not specified',
    ],
    ['a default that is not there', ['m'], 'n', "Expect the default model 'n' is loaded"],
  ])('does not start with %s', async (_, models, defaultModel, message) => {
    const { frontend } = await start(models, { defaultModel });
    expect(() => frontend.started()).toThrow(message);
  });

  it('takes and gives binary tensors behind the JSON, whose length is in the content type', async () => {
    const { frontend, call } = await start(['m']);
    await frontend.started();
    const json = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], parameters: { binary_data_size: 4 } }],
      outputs: [{ name: 'y', parameters: { binary_data: true } }],
    });
    const prefix = 'application/vnd.vertex-ai-triton.binary+json;json-header-size=';
    const body = Buffer.concat([Buffer.from(json), Buffer.from(Float32Array.of(3).buffer)]);
    const answer = await call(PREDICT, {
      method: 'POST',
      body,
      headers: { 'Content-Type': `${prefix}${json.length}` },
    });
    const text = Buffer.from(await answer.arrayBuffer());
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('inference-header-content-length')).toBe(String(text.length - 4));
    expect(text.readFloatLE(text.length - 4)).toBe(3);
    const wrong = await call(PREDICT, { method: 'POST', body, headers: { 'Content-Type': `x ${prefix}1` } });
    expect(await wrong.text()).toContain(`expect MIME type for binary data starts with '${prefix}'`);
  });

  it.each<[string, number, string]>([
    ['v2', 200, '"name":"triton"'],
    ['v2/health/live', 200, ''],
    ['v2/models/m', 200, '"platform":"tstriton"'],
    ['v2/models/m/versions/1/config', 200, '"max_batch_size"'],
    ['v2/models/stats', 200, '"model_stats"'],
    ['v2/repository/index', 200, '"state":"READY"'],
    ['v2/systemsharedmemory/status', 200, '[]'],
    ['metrics', 200, 'nv_metric 1'],
    ['v2/models/nope', 404, "'nope' is not found"],
    ['v2/logging', 400, ''],
    ['v2/models/m/generate', 400, ''],
    ['nope', 400, ''],
  ])('sends a prediction on to %s: %d', async (endpoint, status, part) => {
    const { frontend, call } = await start(['m']);
    await frontend.started();
    const answer = await call(PREDICT, redirect(endpoint));
    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain(part);
  });

  it('sends only what came with POST on', async () => {
    const { frontend, call } = await start(['m']);
    await frontend.started();
    expect((await call(PREDICT, { ...redirect('v2'), method: 'GET' })).status).toBe(405);
  });

  it('has nothing elsewhere', async () => {
    const { call } = await start(['m']);
    expect((await call('/v2')).status).toBe(400);
    expect((await call('/metrics')).status).toBe(400);
  });

  it('keeps to the restrictions of HTTP', async () => {
    const restrictions: Restriction[] = [{ categories: ['model-repository'], key: 'admin-key', value: 'secret' }];
    const { frontend, call } = await start(['m'], { restrictions });
    await frontend.started();
    expect((await call(PREDICT, redirect('v2/repository/index'))).status).toBe(403);
    expect((await call(PREDICT, redirect('v2'))).status).toBe(200);
  });
});
