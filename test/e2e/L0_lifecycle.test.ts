// The model repository extension: models that clients load and unload, as Triton's suite of this name tests them.
import { describe, expect, it } from 'vitest';

import { TritonError, type Triton, type TritonConfig } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { gate, inferJson, startServer } from '../support/start-server.js';

const SPEC = {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
} as const;
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];
const EXPLICIT: TritonConfig = { modelControlMode: 'explicit', restrictedEndpoints: [] };

function bindIdentity(triton: Triton, modelName: string, modelVersion = 1): void {
  triton.bind({ modelName, modelVersion, ...SPEC, inferFunc: (requests) => requests });
}

/** Binds a model whose life is written down. */
function bindRecorded(triton: Triton, modelName: string, life: string[]): void {
  triton.bind({
    modelName,
    ...SPEC,
    setup: () => void life.push('setup'),
    teardown: () => void life.push('teardown'),
    inferFunc: (requests) => requests,
  });
}

/** `name:version STATE reason` for each line of the index. */
async function index(http: string, body: object = {}): Promise<string[]> {
  const [, models] = await callJson(`${http}/v2/repository/index`, body);
  return (models as Record<string, string>[]).map(({ name, version, state, reason }) =>
    version === undefined ? name! : [`${name}:${version}`, state, reason].join(' ').trim(),
  );
}

function control(http: string, action: 'load' | 'unload', model: string) {
  return callJson(`${http}/v2/repository/models/${model}/${action}`, {});
}

async function readiness(http: string): Promise<number> {
  return (await callJson(`${http}/v2/health/ready`))[0];
}

describe.each([{ serverThread: true }, { serverThread: false }])('model control with %o', ({ serverThread }) => {
  const explicit = { ...EXPLICIT, serverThread };

  it('loads what it is told to at first, and the rest when a client asks', async () => {
    const life: string[] = [];
    await using server = await startServer(
      (triton) => {
        bindIdentity(triton, 'first', 1);
        bindIdentity(triton, 'first', 3);
        bindRecorded(triton, 'second', life);
      },
      { ...explicit, loadModel: ['first'] },
    );
    expect(await index(server.http)).toEqual(['first:1 READY', 'first:3 READY', 'second']);
    // A model that nobody asked for keeps nothing from being ready, and costs nothing.
    expect([await readiness(server.http), life]).toEqual([200, []]);
    expect(await inferJson(server.http, 'second', ONE)).toMatchObject({
      status: 404,
      error: "Request for unknown model: 'second' is not found",
    });
    expect(await control(server.http, 'load', 'second')).toEqual([200, '']);
    expect(life).toEqual(['setup']);
    expect((await inferJson(server.http, 'second', ONE)).outputs[0]!.data).toEqual([1]);
    // Again: nothing happens.
    expect(await control(server.http, 'load', 'second')).toEqual([200, '']);
    expect(life).toEqual(['setup']);
    await server.triton.stop();
    expect(life).toEqual(['setup', 'teardown']);
  });

  it('unloads and loads again, over gRPC too', async () => {
    const life: string[] = [];
    await using server = await startServer((triton) => bindRecorded(triton, 'm', life), {
      ...explicit,
      loadModel: '*',
    });
    using grpc = grpcService(server.grpc);
    await inferJson(server.http, 'm', ONE);
    await grpc.call('RepositoryModelUnload', { model_name: 'm' });
    await expect.poll(() => index(server.http)).toEqual(['m:1 UNAVAILABLE unloaded']);
    expect(life).toEqual(['setup', 'teardown']);
    expect(await index(server.http, { ready: true })).toEqual([]);
    expect(await grpc.call('ModelReady', { name: 'm' })).toEqual({ ready: false });
    expect(await readiness(server.http)).toBe(200);
    expect(await inferJson(server.http, 'm', ONE)).toMatchObject({
      status: 404,
      error: "Request for unknown model: 'm' has no available versions",
    });
    await grpc.call('RepositoryModelLoad', { model_name: 'm' });
    expect(life).toEqual(['setup', 'teardown', 'setup']);
    expect((await inferJson(server.http, 'm', ONE)).outputs[0]!.data).toEqual([1]);
    const [, statistics] = await callJson(`${server.http}/v2/models/m/stats`);
    expect(statistics).toMatchObject({ model_stats: [{ inference_count: 1 }] });
  });

  it('lets the requests of a model that is unloaded finish, and loads it again before they have', async () => {
    const { open, opened } = gate();
    const { open: begin, opened: began } = gate();
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'held',
          ...SPEC,
          inferFunc: async (requests) => {
            begin();
            await opened;
            return requests;
          },
        }),
      { ...explicit, loadModel: ['held'] },
    );
    const answer = inferJson(server.http, 'held', ONE);
    await began;
    expect(await control(server.http, 'unload', 'held')).toEqual([200, '']);
    expect(await index(server.http)).toEqual(['held:1 UNLOADING']);
    expect((await inferJson(server.http, 'held', ONE)).status).toBe(404);
    expect(await control(server.http, 'load', 'held')).toEqual([200, '']);
    expect(await index(server.http)).toEqual(['held:1 READY']);
    open();
    expect((await answer).outputs[0]!.data).toEqual([1]);
    expect(await index(server.http)).toEqual(['held:1 READY']);
  });

  it('tells why a model does not load, and tries again when asked', async () => {
    let tries = 0;
    await using server = await startServer(
      (triton) => {
        bindIdentity(triton, 'fine');
        triton.bind({
          modelName: 'broken',
          ...SPEC,
          setup: () => {
            if (tries++ === 0) throw new TritonError('UNAVAILABLE', 'weights are missing');
          },
          inferFunc: (requests) => requests,
        });
      },
      { ...explicit, loadModel: ['fine'] },
    );
    expect(await control(server.http, 'load', 'broken')).toEqual([
      400,
      {
        error:
          "load failed for model 'broken': version 1 is at UNAVAILABLE state: Unavailable: setup of model 'broken' failed: weights are missing;\n",
      },
    ]);
    expect(await index(server.http)).toEqual([
      "broken:1 UNAVAILABLE Unavailable: setup of model 'broken' failed: weights are missing",
      'fine:1 READY',
    ]);
    expect(await readiness(server.http)).toBe(400);
    expect(await control(server.http, 'load', 'broken')).toEqual([200, '']);
    expect(await readiness(server.http)).toBe(200);
  });

  it('is not for clients unless the server says so', async () => {
    await using server = await startServer((triton) => bindIdentity(triton, 'm'), {
      serverThread,
      restrictedEndpoints: [],
    });
    const refusal = { error: 'explicit model load / unload is not allowed if polling is enabled' };
    expect(await control(server.http, 'load', 'm')).toEqual([503, refusal]);
    expect(await control(server.http, 'unload', 'm')).toEqual([503, refusal]);
    expect(await index(server.http)).toEqual(['m:1 READY']);
  });

  it('leaves a server ready without a model that failed, when readiness is not strict', async () => {
    const bindBroken = (triton: Triton) => {
      bindIdentity(triton, 'fine');
      triton.bind({
        modelName: 'broken',
        ...SPEC,
        setup: () => Promise.reject(new Error('no weights')),
        inferFunc: (requests) => requests,
      });
    };
    const lenient = { serverThread, exitOnError: false, restrictedEndpoints: [] };
    await using strict = await startServer(bindBroken, lenient);
    expect(await readiness(strict.http)).toBe(400);
    expect(await index(strict.http)).toEqual([
      "broken:1 UNAVAILABLE Internal: setup of model 'broken' failed: no weights",
      'fine:1 READY',
    ]);
    await using loose = await startServer(bindBroken, { ...lenient, strictReadiness: false });
    expect(await readiness(loose.http)).toBe(200);
  });

  it('does not start without a model that it is to load', async () => {
    const start = startServer((triton) => bindIdentity(triton, 'm'), { ...explicit, loadModel: ['m', 'nope'] });
    await expect(start).rejects.toThrow("failed to load 'nope', failed to poll from model repository");
  });
});
