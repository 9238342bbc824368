// Limits of the queue: how many may wait, for how long, and what happens to those that do not fit or wait too long.
import { describe, expect, it } from 'vitest';

import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { startServer } from '../support/start-server.js';
import type { ModelConfig } from 'tstriton';

const EXPIRED = 'UNAVAILABLE Request timeout expired';

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

  it('refuses who waited too long, at that moment, though the instance stays busy', async () => {
    const policy = { defaultTimeoutMicroseconds: 100_000 };
    await using it = await held({ maxBatchSize: 1, batcher: { defaultQueuePolicy: policy } });
    const { model, clients } = it;
    const running = clients.ask('z');
    await model.began(1);
    const startedAt = performance.now();
    expect(await Promise.all([clients.ask('a'), clients.ask('b', { wire: 'grpc' })])).toEqual([EXPIRED, EXPIRED]);
    const took = performance.now() - startedAt;
    expect(took).toBeGreaterThanOrEqual(99);
    // Triton looks twice a second.
    expect(took).toBeLessThan(500);
    model.open();
    expect(await running).toBe('ok');
    expect(model.batches).toEqual(['z']);
    const { fail, queue } = (await clients.statistics()).inference_stats;
    expect([fail.count, queue.count]).toEqual([2, 1]);
    expect(fail.ns).toBeGreaterThan(2 * 99e6);
    expect(await clients.metric('nv_inference_request_failure', { reason: 'REJECTED' })).toBe(2);
  });

  it('lets who waited too long wait on behind the others when the action is DELAY', async () => {
    const policy = { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 50_000 } as const;
    await using it = await held({ maxBatchSize: 1, batcher: { defaultQueuePolicy: policy } });
    const { model, clients } = it;
    const running = clients.ask('z');
    await model.began(1);
    const early = await clients.queue('ab');
    await new Promise((resolve) => setTimeout(resolve, 80));
    const late = await clients.queue('c');
    model.open();
    expect(await Promise.all([running, ...early, ...late])).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(model.batches).toEqual(['z', 'c', 'a', 'b']);
  });

  it('lets requests shorten their time, and not lengthen it', async () => {
    const policy = { defaultTimeoutMicroseconds: 300_000, allowTimeoutOverride: true };
    await using it = await held({ maxBatchSize: 1, batcher: { defaultQueuePolicy: policy } });
    const { model, clients } = it;
    const running = clients.ask('z');
    await model.began(1);
    const ask = async (timeout: number) => {
      const startedAt = performance.now();
      expect(await clients.ask(`t${timeout}`, { parameters: { timeout } })).toBe(EXPIRED);
      return performance.now() - startedAt;
    };
    const [shorter, longer, none] = await Promise.all([ask(50_000), ask(900_000), ask(0)]);
    expect(shorter).toBeLessThan(290);
    for (const took of [longer, none]) {
      expect(took).toBeGreaterThanOrEqual(299);
      expect(took).toBeLessThan(800);
    }
    model.open();
    await running;
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
