import { afterEach, describe, expect, it } from 'vitest';

import { EchoInstance } from '../../../test/support/echo-instance.js';
import { InferenceServer } from '../../core/inference-server.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { HttpFrontend } from '../http/http-frontend.js';
import { SagemakerService, type SagemakerServiceOptions } from './sagemaker-service.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };

const opened: HttpFrontend[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((frontend) => frontend.close()));
});

async function start(options: Partial<SagemakerServiceOptions> = {}) {
  const server = new InferenceServer({ name: 'triton', version: '1', logger: LOGGER });
  const text = { dtype: 'string', shape: [1] } as const;
  const config = completeModelConfig({ modelName: 'm', inputs: { text: text }, outputs: { reply: text } }, 1);
  server.models.bind({ config, open: () => ({ instances: [new EchoInstance(config)] }) });
  await server.models.loadVersion('m', 1);
  const service = new SagemakerService({
    server,
    maxInputSize: 1_000_000,
    pingMode: 'ready',
    defaultModel: 'm',
    inferenceType: 'infer',
    restrictions: [],
    ...options,
  });
  const frontend = new HttpFrontend(service, { address: '127.0.0.1', port: 0, logger: LOGGER });
  opened.push(frontend);
  const port = await frontend.start();
  const call = async (method: string, path: string, body: string | null = null) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, body });
    return `${answer.status} ${await answer.text()}`;
  };
  return { server, call };
}

const REQUEST = JSON.stringify({ inputs: [{ name: 'text', datatype: 'BYTES', shape: [1, 1], data: ['hi'] }] });

describe('the port for SageMaker', () => {
  it('tells by ping whether the server is ready, or whether it is live', async () => {
    const ready = await start();
    expect(await ready.call('GET', '/ping')).toBe('400 ');
    ready.server.started();
    expect(await ready.call('GET', '/ping')).toBe('200 ');
    const live = await start({ pingMode: 'live' });
    expect(await live.call('GET', '/ping')).toBe('200 ');
    expect(await live.call('POST', '/ping')).toBe('405 {"error":"Method Not Allowed"}');
  });

  it('infers with the model of its environment', async () => {
    const { server, call } = await start();
    server.started();
    expect(await call('POST', '/invocations', REQUEST)).toBe(
      '200 {"model_name":"m","model_version":"1","outputs":[{"name":"reply","datatype":"BYTES","shape":[1,1],"data":["hi"]}]}',
    );
    expect(await call('GET', '/invocations')).toBe('405 {"error":"Method Not Allowed"}');
  });

  it('generates when its environment says so', async () => {
    const { server, call } = await start({ inferenceType: 'generate' });
    server.started();
    expect(await call('POST', '/invocations', '{"text":"hi"}')).toBe(
      '200 {"model_name":"m","model_version":"1","reply":"hi"}',
    );
  });

  it('says which model is missing', async () => {
    const { server, call } = await start({ defaultModel: 'nope' });
    server.started();
    expect(await call('POST', '/invocations', REQUEST)).toBe(
      `404 {"error":"Request for unknown model: 'nope' is not found"}`,
    );
  });

  it('serves no multi-model endpoints, and nothing elsewhere', async () => {
    const { call } = await start();
    for (const path of ['/models', '/models/m', '/models/m/invoke']) {
      expect(await call('GET', path)).toBe(
        '501 {"error":"multi-model endpoints of SageMaker are not supported: models are functions that were bound, not archives"}',
      );
    }
    expect(await call('GET', '/v2')).toBe('400 ');
  });

  it('keeps to the restrictions of HTTP', async () => {
    const { call } = await start({ restrictions: [{ categories: ['inference'], key: 'k', value: 'v' }] });
    expect(await call('POST', '/invocations', REQUEST)).toBe(
      `403 {"error":"This API is restricted, expecting header 'k'"}`,
    );
  });
});
