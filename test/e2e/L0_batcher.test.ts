// What the dynamic batcher promises, as its users see it; the names of these files are those of Triton's own suites.
import { describe, expect, it } from 'vitest';

import { grpcService } from '../support/grpc-service.js';
import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { startServer, type RunningServer } from '../support/start-server.js';

/** Beside this no delay of a test is short. */
const NEVER = 600_000_000;

async function serve(model: HeldModel, serverThread = true): Promise<RunningServer> {
  return startServer((triton) => model.bind(triton), { serverThread });
}

describe.each([{ serverThread: true }, { serverThread: false }])('the batcher with %o', ({ serverThread }) => {
  it('puts what comes while an instance is busy into one batch, up to its rows, in order', async () => {
    const model = new HeldModel({ maxBatchSize: 4 });
    await using server = await serve(model, serverThread);
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z');
    await model.began(1);
    const others = await clients.queue('abcde', (id) => ({
      rows: id === 'c' ? 3 : 1,
      wire: id > 'b' ? 'grpc' : 'http',
    }));
    model.open();
    await Promise.all([first, ...others]);
    // c does not fit behind a and b; d and e do not pass it.
    expect(model.batches).toEqual(['z', 'a b', 'c d', 'e']);
    expect(model.rows).toEqual([1, 2, 4, 1]);
  });

  it('never mixes shapes, and reorders nothing', async () => {
    const model = new HeldModel({ maxBatchSize: 8 });
    await using server = await serve(model, serverThread);
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z');
    await model.began(1);
    const others = await clients.queue('abcd', (id) => ({ length: id === 'c' ? 5 : 2 }));
    model.open();
    expect(await Promise.all([first, ...others])).toEqual(Array.from({ length: 5 }, () => 'ok'));
    expect(model.batches).toEqual(['z', 'a b', 'c', 'd']);
  });

  it('batches each shape by itself where that is asked for', async () => {
    const model = new HeldModel({ maxBatchSize: 3, batcher: { groupByShape: true } });
    await using server = await serve(model, serverThread);
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z');
    await model.began(1);
    const others = await clients.queue('abcdefghi', (id) => ({
      length: id < 'c' ? 2 : 3 + (id.charCodeAt(0) % 2),
      wire: id > 'e' ? 'grpc' : 'http',
    }));
    model.open();
    expect(await Promise.all([first, ...others])).toEqual(Array.from({ length: 10 }, () => 'ok'));
    // Shapes: 2 for a and b, 4 for c, e, g and i, 3 for d, f and h.
    expect(model.batches).toEqual(['z', 'a b', 'c e g', 'd f h', 'i']);
    const config = (await (await fetch(`${server.http}/v2/models/${model.name}/config`)).json()) as object;
    expect(config).toMatchObject({ parameters: { group_by_shape: { string_value: 'true' } } });
    using service = grpcService(server.grpc);
    expect(await service.call('ModelConfig', { name: model.name })).toMatchObject({
      config: { dynamic_batching: {}, parameters: { group_by_shape: { string_value: 'true' } } },
    });
  });

  it('sends a preferred size at once, and waits with others', async () => {
    const model = new HeldModel({
      maxBatchSize: 8,
      batcher: { preferredBatchSize: [2, 6], maxQueueDelayMicroseconds: NEVER },
    });
    model.open();
    await using server = await serve(model, serverThread);
    await using clients = new HeldModelClients(server, model);
    // As Triton's suite has it: 2, 6 and what is at least the largest run at once.
    for (const rows of [2, 6, 7]) expect(await clients.ask(String(rows), { rows })).toBe('ok');
    const [one] = await clients.queue('a');
    const two = clients.ask('b');
    await Promise.all([one, two]);
    expect(model.batches).toEqual(['2', '6', '7', 'a b']);
  });

  it('sends what waits when a request of another shape comes', async () => {
    const model = new HeldModel({ maxBatchSize: 8, batcher: { maxQueueDelayMicroseconds: NEVER } });
    model.open();
    await using server = await serve(model, serverThread);
    await using clients = new HeldModelClients(server, model);
    const [first] = await clients.queue('a', { length: 2 });
    const rest = clients.ask('b', { length: 3 });
    expect(await first).toBe('ok');
    expect(model.batches).toEqual(['a']);
    await clients.waiting(1);
    const full = clients.ask('c', { length: 3, rows: 7 });
    expect(await Promise.all([rest, full])).toEqual(['ok', 'ok']);
  });

  it('waits for others no longer than the delay, even when it is shorter than a timer', async () => {
    for (const maxQueueDelayMicroseconds of [300, 60_000]) {
      const model = new HeldModel({ maxBatchSize: 8, batcher: { maxQueueDelayMicroseconds } });
      model.open();
      await using server = await serve(model, serverThread);
      await using clients = new HeldModelClients(server, model);
      await clients.ask('warm');
      const startedAt = performance.now();
      expect(await clients.ask('a')).toBe('ok');
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(maxQueueDelayMicroseconds / 1000);
      const { queue } = (await clients.statistics()).inference_stats;
      expect(queue.ns / queue.count).toBeGreaterThanOrEqual(maxQueueDelayMicroseconds * 1000);
    }
  });

  it('gives batches to whichever instance is free, and answers in order only when asked to', async () => {
    for (const preserveOrdering of [false, true]) {
      const model = new HeldModel({ maxBatchSize: 1, batcher: { preserveOrdering } }, { instances: 2 });
      await using server = await serve(model, serverThread);
      await using clients = new HeldModelClients(server, model);
      const slow = clients.ask('a');
      await model.began(1);
      const quick = clients.ask('b', { wire: 'grpc' });
      await model.began(2);
      const [last] = await clients.queue('c');
      // Ends b first: its instance takes c.
      model.endLast();
      await model.began(3);
      model.endLast();
      if (!preserveOrdering) await Promise.all([quick, last]);
      model.open();
      await Promise.all([slow, quick, last]);
      expect(model.batches).toEqual(['a', 'b', 'c']);
      expect(clients.answered[preserveOrdering ? 0 : 2]).toBe('a');
    }
  });

  it.each([
    ['batcher: null', { batcher: null, maxBatchSize: 8 }],
    ['maxBatchSize: 1', { maxBatchSize: 1 }],
  ] as const)('runs every request alone with %s', async (_, config) => {
    const model = new HeldModel(config);
    await using server = await serve(model, serverThread);
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z');
    await model.began(1);
    const others = await clients.queue('abc');
    model.open();
    await Promise.all([first, ...others]);
    expect(model.batches).toEqual(['z', 'a', 'b', 'c']);
  });

  it('tells in the statistics how large the batches were', async () => {
    const model = new HeldModel({ maxBatchSize: 4 });
    await using server = await serve(model, serverThread);
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z', { rows: 3 });
    await model.began(1);
    const others = await clients.queue('abcd', (id) => ({ rows: id === 'a' ? 2 : 1 }));
    model.open();
    await Promise.all([first, ...others]);
    const { inference_count, execution_count, inference_stats, batch_stats } = await clients.statistics();
    expect({ inference_count, execution_count }).toEqual({ inference_count: 8, execution_count: 3 });
    expect(batch_stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count])).toEqual([
      [1, 1],
      [3, 1],
      [4, 1],
    ]);
    const counts = Object.entries(inference_stats).map(([name, { count }]) => [name, count]);
    expect(Object.fromEntries(counts)).toEqual({
      success: 5,
      fail: 0,
      queue: 5,
      compute_input: 5,
      compute_infer: 5,
      compute_output: 5,
      cache_hit: 0,
      cache_miss: 0,
    });
  });

  it('fails the request that has an error, and no other of its batch', async () => {
    const model = new HeldModel({ maxBatchSize: 4 });
    model.failing.add('b');
    await using server = await serve(model, serverThread);
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z');
    await model.began(1);
    const others = await clients.queue('abc');
    model.open();
    expect(await Promise.all([first, ...others])).toEqual(['ok', 'ok', 'INTERNAL asked to fail', 'ok']);
    expect(await clients.metric('nv_inference_request_failure', { reason: 'BACKEND' })).toBe(1);
  });
});
