// The `config` parameter of the repository extension's load: the configuration that counts for the load, as in Triton's
// L0_lifecycle (load with override).
import { describe, expect, it } from 'vitest';

import { batch, defineModel, instanceGroup, sample, type CallableOf, type Triton, type TritonConfig } from 'tstriton';

import { callJson, grpcService } from '../support/grpc-service.js';
import { gate, inferJson, startServer } from '../support/start-server.js';

const echo = defineModel({
  modelName: 'Echo',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { maxBatchSize: 8, responseCache: true },
});
const MODULE = new URL('../fixtures/instance.js', import.meta.url);
const EXPLICIT: TritonConfig = {
  modelControlMode: 'explicit',
  loadModel: '*',
  restrictedEndpoints: [],
  cacheConfig: 'local,size=1048576',
};

function load(http: string, model: string, config?: object, more: object = {}) {
  const parameters = config === undefined ? {} : { parameters: { config: JSON.stringify(config), ...more } };
  return callJson(`${http}/v2/repository/models/${model}/load`, parameters);
}

function rows(count: number) {
  return [{ name: 'x', datatype: 'FP32', shape: [count, 1], data: new Array<number>(count).fill(1) }];
}

async function told(http: string, model = 'Echo') {
  const [, config] = await callJson(`${http}/v2/models/${model}/config`);
  const { max_batch_size: size, dynamic_batching: batcher, response_cache: cache } = config as Record<string, unknown>;
  return { size, batcher: batcher as { preferred_batch_size: number[] } | undefined, cache };
}

describe.each([{ serverThread: true }, { serverThread: false }])(
  'a load with a configuration, %o',
  ({ serverThread }) => {
    const options = { ...EXPLICIT, serverThread };
    const bind = (triton: Triton) => void triton.bind({ ...echo, inferFunc: (requests) => requests });

    it('counts until the model is unloaded: sizes, batcher and cache', async () => {
      await using server = await startServer(bind, options);
      const { http } = server;
      const bound = { size: 8, batcher: { preferred_batch_size: [8] }, cache: { enable: true } };
      expect(await told(http)).toMatchObject(bound);
      expect((await inferJson(http, 'Echo', rows(8))).status).toBe(200);
      expect(await load(http, 'Echo', { max_batch_size: 2, dynamic_batching: { preferred_batch_size: [2] } })).toEqual([
        200,
        '',
      ]);
      expect(await told(http)).toMatchObject({ size: 2, batcher: { preferred_batch_size: [2] }, cache: undefined });
      expect(await inferJson(http, 'Echo', rows(3))).toMatchObject({
        status: 400,
        error: "[request id: <id_unknown>] inference request batch-size must be <= 2 for 'Echo'",
      });
      for (let i = 0; i < 2; i++) expect((await inferJson(http, 'Echo', rows(2))).status).toBe(200);
      const [, statistics] = await callJson(`${http}/v2/models/Echo/stats`);
      // A load begins anew, and nothing is answered from the cache.
      expect(statistics).toMatchObject({
        model_stats: [{ execution_count: 2, inference_stats: { cache_hit: { count: 0 } } }],
      });
      expect(await load(http, 'Echo')).toEqual([200, '']);
      expect(await told(http)).toMatchObject({ size: 2 });
      await callJson(`${http}/v2/repository/models/Echo/unload`, {});
      await load(http, 'Echo');
      expect(await told(http)).toMatchObject(bound);
    });

    it('comes over gRPC as well, and for a model that is not loaded', async () => {
      await using server = await startServer(bind, { ...options, loadModel: [] });
      using service = grpcService(server.grpc);
      const config = { string_param: JSON.stringify({ max_batch_size: 3 }) };
      await service.call('RepositoryModelLoad', { model_name: 'Echo', parameters: { config } });
      expect(await told(server.http)).toMatchObject({ size: 3, batcher: undefined });
      expect((await inferJson(server.http, 'Echo', rows(4))).status).toBe(400);
      expect((await inferJson(server.http, 'Echo', rows(3))).status).toBe(200);
    });

    it('is seen by callables; what runs meanwhile finishes with the old one, one batch at a time', async () => {
      const events: string[] = [];
      const [began, release] = [gate(), gate()];
      await using server = await startServer((triton) => {
        triton.bind({
          ...echo,
          setup: () => void events.push('setup'),
          teardown: () => void events.push('teardown'),
          inferFunc: async (requests, { modelConfig }) => {
            events.push(`begins with ${modelConfig.maxBatchSize}`);
            began.open();
            await release.opened;
            events.push('ends');
            return requests;
          },
        });
      }, options);
      const before = inferJson(server.http, 'Echo', rows(5));
      await began.opened;
      expect((await load(server.http, 'Echo', { max_batch_size: 2 }))[0]).toBe(200);
      const after = inferJson(server.http, 'Echo', rows(2));
      await expect
        .poll(
          async () =>
            (await (await fetch(server.metrics)).text()).match(/^tstriton_inflight_requests\{.*\} (\d)$/m)?.[1],
        )
        .toBe('1');
      release.open();
      expect((await before).outputs[0]!.shape).toEqual([5, 1]);
      expect((await after).outputs[0]!.shape).toEqual([2, 1]);
      expect(events).toEqual(['setup', 'begins with 8', 'ends', 'begins with 2', 'ends']);
      await server.triton.stop();
      expect(events.at(-1)).toBe('teardown');
    });

    it('starts the threads of instance groups anew', async () => {
      await using server = await startServer(
        (triton) =>
          void triton.bind({
            modelName: 'Threads',
            inputs: { x: { dtype: 'int32', shape: [1] } },
            outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
            inferFunc: instanceGroup(MODULE, { count: 2 }),
          }),
        options,
      );
      const ask = async () => {
        const x = { name: 'x', datatype: 'INT32', shape: [1, 1], data: [0] };
        return (await inferJson(server.http, 'Threads', [x])).outputs[1]!.data[0];
      };
      const old = new Set([await ask(), await ask()]);
      expect((await load(server.http, 'Threads', { max_batch_size: 2 }))[0]).toBe(200);
      const fresh = new Set([await ask(), await ask()]);
      expect([old.size, fresh.size, [...fresh].some((thread) => old.has(thread))]).toEqual([2, 2, false]);
      const instances = async () =>
        (await (await fetch(server.metrics)).text()).match(/^tstriton_instances\{.*\} (\d)$/m)?.[1];
      expect(await instances()).toBe('2');
    });

    it('warms up with what it brings, and leaves what serves when that fails', async () => {
      const seen: number[] = [];
      let fails = false;
      const echoRows = batch(({ x }) => {
        if (fails) throw new Error('cold');
        seen.push(x.rowCount);
        return { y: x };
      }) satisfies CallableOf<typeof echo>;
      await using server = await startServer((triton) => void triton.bind({ ...echo, inferFunc: echoRows }), options);
      const inputs = { x: { data_type: 'TYPE_FP32', dims: [1], zero_data: true } };
      const warm = { max_batch_size: 4, model_warmup: [{ name: 'full', batch_size: 4, count: 2, inputs }] };
      expect((await load(server.http, 'Echo', warm))[0]).toBe(200);
      expect(seen).toEqual([4, 4]);
      fails = true;
      expect(await load(server.http, 'Echo', { ...warm, max_batch_size: 6 })).toEqual([
        400,
        {
          error:
            "load failed for model 'Echo': version 1 is at UNAVAILABLE state: Internal: warm-up 'full' of model 'Echo' failed: cold;\n",
        },
      ]);
      fails = false;
      expect(await told(server.http)).toMatchObject({ size: 4 });
      expect((await inferJson(server.http, 'Echo', rows(4))).status).toBe(200);
    });

    it('is refused when callables cannot work with it, when it brings files, and when the server has no cache', async () => {
      const { cacheConfig: _, ...withoutCache } = options;
      await using server = await startServer((triton) => {
        const config = { maxBatchSize: 1 };
        triton.bind({ ...echo, modelName: 'Sample', config, inferFunc: sample(({ x }) => ({ y: x! })) as never });
      }, withoutCache);
      const refused = async (config: object, more?: object) => {
        const [status, body] = await load(server.http, 'Sample', config, more);
        return [status, (body as { error: string }).error] as const;
      };
      expect(await refused({ max_batch_size: 4 })).toEqual([
        400,
        expect.stringMatching(/^load failed for model 'Sample': .*sample/) as string,
      ]);
      expect(await refused({}, { 'file:1/model.py': 'cHJpbnQoMSkK' })).toEqual([
        501,
        "load parameter 'file:1/model.py' is not supported: model 'Sample' is what was bound under that name",
      ]);
      expect(await refused({ response_cache: { enable: true } })).toEqual([
        400,
        "Invalid config override: model 'Sample' asks for the response cache, and the server has none",
      ]);
      expect((await inferJson(server.http, 'Sample', rows(1))).status).toBe(200);
    });
  },
);
