// Limits of the queue: how many may wait, for how long, and what happens to those that do not fit or wait too long.
import { describe, expect, it } from 'vitest';

import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { gate, startServer } from '../support/start-server.js';
import type { ModelConfig, QueuePolicy } from 'tstriton';
import { ModelClient } from 'tstriton/client';

const EXPIRED = 'UNAVAILABLE Request timeout expired';

/** A policy for requests of the first level. Those of the second, which is the default, may wait as long as they like. */
function limited(policy: QueuePolicy): ModelConfig {
  const levels = { priorityLevels: 2, defaultPriorityLevel: 2, priorityQueuePolicy: { 1: policy } };
  return { maxBatchSize: 1, batcher: levels };
}
const LIMITED = { parameters: { priority: 1 } };

async function held(config: ModelConfig) {
  const model = new HeldModel(config);
  const server = await startServer((triton) => model.bind(triton));
  const clients = new HeldModelClients(server, model);
  return {
    model,
    server,
    clients,
    async [Symbol.asyncDispose]() {
      await clients[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe('the queue of a model', () => {
  it('takes so many requests as may wait beside the ones that run, and refuses more at once', async () => {
    await using it = await held({ maxBatchSize: 1, batcher: { defaultQueuePolicy: { maxQueueSize: 8 } } });
    const { model, clients } = it;
    const running = clients.ask('z');
    await model.began(1);
    const waiting = await clients.queue('abcdefgh');
    expect(await clients.ask('over', { wire: 'grpc' })).toBe(
      'UNAVAILABLE [request id: over] Exceeds maximum queue size',
    );
    const response = await fetch(`${it.server.http}/v2/models/Held/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }] }),
    });
    expect([response.status, await response.json()]).toEqual([
      503,
      { error: '[request id: <id_unknown>] Exceeds maximum queue size' },
    ]);
    model.open();
    expect(await Promise.all([running, ...waiting])).toEqual(Array.from({ length: 9 }, () => 'ok'));
    // Nobody who was refused is in a statistic.
    const { success, fail } = (await clients.statistics()).inference_stats;
    expect([success.count, fail.count]).toEqual([9, 0]);
  });

  it.each([true, false])('refuses none that an instance has room for, with serverThread: %s', async (serverThread) => {
    const calls = Array.from({ length: 8 }, (_, x) => x);
    const all = gate();
    let begun = 0;
    const one = { dtype: 'int32', shape: [1] } as const;
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'Room',
          inputs: { x: one },
          outputs: { y: one },
          config: { maxBatchSize: 1, concurrency: calls.length, batcher: { defaultQueuePolicy: { maxQueueSize: 1 } } },
          inferFunc: async (requests) => {
            // The first request alone finds the model out.
            if (begun++ === calls.length) all.open();
            if (begun > 1) await all.opened;
            return requests;
          },
        }),
      { serverThread },
    );
    await using client = new ModelClient(server.grpc, 'Room', { retry: false });
    await client.inferSample({ x: 0 });
    const answers = await Promise.all(calls.map((x) => client.inferSample({ x })));
    expect(answers.map(({ y }) => y?.data[0] as number)).toEqual(calls);
  });

  it('refuses who waited too long, though the instance stays busy', async () => {
    await using it = await held(limited({ defaultTimeoutMicroseconds: 100_000 }));
    const { model, clients } = it;
    const running = clients.ask('z');
    await model.began(1);
    const startedAt = performance.now();
    const late = [clients.ask('a', LIMITED), clients.ask('b', { ...LIMITED, wire: 'grpc' })];
    expect(await Promise.all(late)).toEqual([EXPIRED, EXPIRED]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(99);
    model.open();
    expect(await running).toBe('ok');
    expect(model.batches).toEqual(['z']);
    const { fail, queue } = (await clients.statistics()).inference_stats;
    expect([fail.count, queue.count]).toEqual([2, 1]);
    expect(fail.ns).toBeGreaterThan(2 * 99e6);
    expect(await clients.metric('nv_inference_request_failure', { reason: 'REJECTED' })).toBe(2);
  });

  it('lets who waited too long wait on behind the others when the action is DELAY', async () => {
    const policy = {
      timeoutAction: 'DELAY',
      defaultTimeoutMicroseconds: 3_600_000_000,
      allowTimeoutOverride: true,
    } as const;
    await using it = await held({ maxBatchSize: 1, batcher: { defaultQueuePolicy: policy } });
    const { model, clients } = it;
    const running = clients.ask('z');
    await model.began(1);
    const early = await clients.queue('ab', { parameters: { timeout: 1000 } });
    // At the least, and nobody is told when it is over.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const late = await clients.queue('c');
    model.open();
    expect(await Promise.all([running, ...early, ...late])).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(model.batches).toEqual(['z', 'c', 'a', 'b']);
  });

  it('lets requests shorten their time, and not lengthen it', async () => {
    const hour = 3_600_000_000;
    for (const [defaultTimeoutMicroseconds, timeout] of [
      [hour, 50_000],
      [50_000, hour],
      [50_000, 0],
    ] as const) {
      await using it = await held(limited({ defaultTimeoutMicroseconds, allowTimeoutOverride: true }));
      const { model, clients } = it;
      const running = clients.ask('z');
      await model.began(1);
      const startedAt = performance.now();
      expect(await clients.ask('a', { parameters: { priority: 1, timeout } })).toBe(EXPIRED);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(49);
      model.open();
      await running;
    }
  });

  it("ignores a request's own time where the model does not allow it, or has none", async () => {
    await using it = await held({ maxBatchSize: 1, batcher: { defaultQueuePolicy: { allowTimeoutOverride: true } } });
    const { model, clients } = it;
    const running = clients.ask('z');
    await model.began(1);
    const [waiting] = await clients.queue('a', { parameters: { timeout: 1000 } });
    await new Promise((resolve) => setTimeout(resolve, 50));
    model.open();
    expect(await Promise.all([running, waiting])).toEqual(['ok', 'ok']);
  });

  it('has a policy for each level', async () => {
    await using it = await held({
      maxBatchSize: 1,
      batcher: {
        priorityLevels: 2,
        defaultPriorityLevel: 2,
        defaultQueuePolicy: { maxQueueSize: 1 },
        priorityQueuePolicy: { 1: { defaultTimeoutMicroseconds: 50_000 } },
      },
    });
    const { model, clients } = it;
    const running = clients.ask('z');
    await model.began(1);
    const [waiting] = await clients.queue('a');
    expect(await clients.ask('b')).toBe('UNAVAILABLE [request id: b] Exceeds maximum queue size');
    expect(await clients.ask('c', { parameters: { priority: 1 } })).toBe(EXPIRED);
    model.open();
    expect(await Promise.all([running, waiting])).toEqual(['ok', 'ok']);
  });
});
