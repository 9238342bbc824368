// The response cache: same question, same answer, one execution.
import { describe, expect, it, vi } from 'vitest';

import { batch, Triton, TritonError, type ModelConfig, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { FREE_PORTS, startServer } from '../support/start-server.js';

const CACHE: TritonConfig = { cacheConfig: ['local,size=1048576'] };
const TENSORS = {
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
} as const;

const callable = batch<typeof TENSORS.inputs, typeof TENSORS.outputs, false>(({ x }) => ({ y: x }));
const bound = (config: ModelConfig<false>) => ({ modelName: 'Cached', ...TENSORS, config, inferFunc: callable });

describe.each([{ serverThread: true }, { serverThread: false }])('the response cache with %o', ({ serverThread }) => {
  it('runs ten identical requests once, over both protocols, one after the other and at the same time', async () => {
    const model = new HeldModel({ maxBatchSize: 16, responseCache: true });
    await using server = await startServer((triton) => model.bind(triton), { ...CACHE, serverThread });
    await using clients = new HeldModelClients(server, model);
    const together = ['a', 'b', 'c', 'd', 'e'].map((id, i) =>
      clients.ask(id, { rows: 16, wire: i % 2 ? 'grpc' : 'http' }),
    );
    await model.began(1);
    model.open();
    await Promise.all(together);
    for (const [i, id] of ['f', 'g', 'h', 'i', 'j'].entries())
      await clients.ask(id, { rows: 16, wire: i % 2 ? 'grpc' : 'http' });
    expect(model.batches).toHaveLength(1);
    const { inference_count, execution_count, inference_stats } = await clients.statistics();
    expect({ inference_count, execution_count }).toEqual({ inference_count: 16, execution_count: 1 });
    expect(Object.fromEntries(Object.entries(inference_stats).map(([name, { count }]) => [name, count]))).toEqual({
      success: 10,
      fail: 0,
      queue: 10,
      compute_input: 1,
      compute_infer: 1,
      compute_output: 1,
      cache_hit: 9,
      cache_miss: 1,
    });
  });

  it('gives each request its own id, and the values that were computed for it', async () => {
    const seen: number[] = [];
    await using server = await startServer(
      (triton) => {
        const shared = new Float32Array(1);
        triton.bind({
          modelName: 'Cached',
          ...TENSORS,
          config: { maxBatchSize: 1, responseCache: true },
          // Returns the same memory every time, as callables do.
          inferFunc: batch(({ x }) => {
            seen.push(x.data[0]!);
            shared[0] = 10 * x.data[0]!;
            return { y: shared };
          }),
        });
      },
      { ...CACHE, serverThread },
    );
    await using client = new ModelClient(server.http, 'Cached');
    const ask = async (value: number) => (await client.inferSample({ x: Float32Array.of(value) }))['y']!.data;
    for (const value of [1, 2, 1, 3, 2, 1]) expect(await ask(value)).toEqual(Float32Array.of(10 * value));
    expect(seen).toEqual([1, 2, 3]);
    const response = await fetch(`${server.http}/v2/models/Cached/infer`, {
      method: 'POST',
      body: JSON.stringify({ id: '7', inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }] }),
    });
    expect(await response.json()).toMatchObject({ id: '7', outputs: [{ data: [10] }] });
    expect(seen).toHaveLength(3);
  });

  it('goes by shapes, parameters and requested outputs as well', async () => {
    const model = new HeldModel({ maxBatchSize: 4, responseCache: true });
    model.open();
    await using server = await startServer((triton) => model.bind(triton), { ...CACHE, serverThread });
    await using clients = new HeldModelClients(server, model);
    for (const _ of 'twice') {
      await clients.ask('a', { rows: 2, length: 2 });
      await clients.ask('b', { rows: 1, length: 4 });
      await clients.ask('c', { rows: 1, length: 4, parameters: { style: 'blue' } });
      // Not what the callable can see.
      await clients.ask('d', { rows: 1, length: 4, parameters: { priority: 1, timeout: 5 } });
    }
    expect(model.batches).toEqual(['a', 'b', 'c']);
  });

  it('is left alone by a request that says response_cache: false', async () => {
    const model = new HeldModel({ responseCache: true });
    model.open();
    await using server = await startServer((triton) => model.bind(triton), { ...CACHE, serverThread });
    await using clients = new HeldModelClients(server, model);
    for (const id of 'ab') await clients.ask(id, { parameters: { response_cache: false }, wire: 'grpc' });
    for (const id of 'cd') await clients.ask(id);
    await clients.ask('e', { parameters: { response_cache: false } });
    expect(model.batches).toEqual(['a', 'b', 'c', 'e']);
  });

  it('keeps no errors', async () => {
    const model = new HeldModel({ responseCache: true });
    model.open();
    model.failing.add('a');
    await using server = await startServer((triton) => model.bind(triton), { ...CACHE, serverThread });
    await using clients = new HeldModelClients(server, model);
    expect(await clients.ask('a')).toBe('INTERNAL asked to fail');
    expect(await clients.ask('b')).toBe('ok');
    expect(await clients.ask('c')).toBe('ok');
    expect(model.batches).toEqual(['a', 'b']);
  });

  it('keeps to its size: what was used longest ago is computed again, and what is too large every time', async () => {
    const model = new HeldModel({ responseCache: true });
    model.open();
    await using server = await startServer((triton) => model.bind(triton), {
      responseCacheByteSize: 40_000,
      serverThread,
    });
    await using clients = new HeldModelClients(server, model);
    for (const length of [4000, 4001, 4000, 4002, 4000, 4001, 20_000, 20_000]) {
      expect(await clients.ask(String(length), { length })).toBe('ok');
    }
    expect(model.batches).toEqual(['4000', '4001', '4002', '4001', '20000', '20000']);
  });

  it('is shared by models, which do not see the answers of each other', async () => {
    const models = ['One', 'Two'].map((name) => new HeldModel({ responseCache: true }, { name }));
    await using server = await startServer((triton) => models.forEach((model) => model.bind(triton)), {
      ...CACHE,
      serverThread,
    });
    for (const model of models) {
      model.open();
      await using clients = new HeldModelClients(server, model);
      for (const id of 'ab') await clients.ask(id);
      expect(model.batches).toEqual(['a']);
    }
  });

  it('does nothing for models that do not ask for it', async () => {
    const model = new HeldModel();
    model.open();
    await using server = await startServer((triton) => model.bind(triton), { ...CACHE, serverThread });
    await using clients = new HeldModelClients(server, model);
    for (const id of 'ab') await clients.ask(id);
    expect(model.batches).toEqual(['a', 'b']);
    const { cache_hit, cache_miss } = (await clients.statistics()).inference_stats;
    expect([cache_hit.count, cache_miss.count]).toEqual([0, 0]);
  });

  it('is told in the configuration of its models', async () => {
    await using server = await startServer(
      (triton) => {
        triton.bind(bound({ responseCache: true }));
        triton.bind({ ...bound({}), modelName: 'Plain' });
      },
      { ...CACHE, serverThread },
    );
    const config = async (name: string) => (await fetch(`${server.http}/v2/models/${name}/config`)).json();
    expect(await config('Cached')).toMatchObject({ response_cache: { enable: true } });
    expect(await config('Plain')).not.toHaveProperty('response_cache');
  });
});

describe('a response cache that cannot be', () => {
  it('is refused at bind when the server has none, naming both ways to configure it', () => {
    expect(() => new Triton(FREE_PORTS).bind(bound({ responseCache: true }))).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message:
          "config.responseCache of model 'Cached' needs a response cache; TritonConfig has none: give it cacheConfig: 'local,size=<bytes>' or responseCacheByteSize",
      }),
    );
  });

  it('is refused when it is configured twice', () => {
    expect(() => new Triton({ ...CACHE, responseCacheByteSize: 1024 })).toThrow(
      /^Incompatible options responseCacheByteSize and cacheConfig both provided/,
    );
  });

  it('is refused for decoupled models', () => {
    const decoupled = { ...bound({ responseCache: true }), config: { responseCache: true, decoupled: true } };
    expect(() => new Triton({ ...FREE_PORTS, ...CACHE }).bind(decoupled as never)).toThrow(TritonError);
    expect(() => new Triton({ ...FREE_PORTS, ...CACHE }).bind(decoupled as never)).toThrow(
      "Response Cache does not currently support model 'Cached' with 'decoupled' transaction policy. Please disable the response cache.",
    );
  });

  it('comes from the environment as well', () => {
    vi.stubEnv('PYTRITON_TRITON_CONFIG_CACHE_CONFIG', 'local,size=4096');
    expect(() => new Triton(FREE_PORTS).bind(bound({ responseCache: true }))).not.toThrow();
    vi.stubEnv('TSTRITON_CONFIG_RESPONSE_CACHE_BYTE_SIZE', '4096');
    expect(() => new Triton(FREE_PORTS)).toThrow(/^Incompatible options/);
  });
});
