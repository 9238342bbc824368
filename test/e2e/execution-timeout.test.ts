// Callables that take too long: their requests fail in time, their signals abort, and the model serves again.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { describe, expect, it } from 'vitest';

import { instanceGroup, TritonError, type ModelConfig } from 'tstriton';

import { gate, inferJson, startServer, type RunningServer } from '../support/start-server.js';
import { WAIT_MILLISECONDS } from '../support/waiting.js';

const SPEC = {
  modelName: 'Slow',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
} as const;

describe.each([{ serverThread: true }, { serverThread: false }])('executionTimeoutMicroseconds with %o', (config) => {
  it('fails the batch with UNAVAILABLE, aborts its signal, and lets the next one run once the callable has settled', async () => {
    const aborted = gate();
    let calls = 0;
    await using server = await startServer(
      (triton) =>
        triton.bind({
          ...SPEC,
          config: { executionTimeoutMicroseconds: 50_000 },
          inferFunc: async (requests, { signal }) => {
            if (++calls > 1) return requests.map(({ inputs }) => ({ y: inputs.x }));
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
            aborted.open();
            throw new TritonError('CANCELLED', 'as the signal says');
          },
        }),
      config,
    );
    const ask = (value: number) =>
      inferJson(server.http, 'Slow', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [value] }]);
    expect(await ask(1)).toMatchObject({
      status: 503,
      error: "model 'Slow' did not answer within its executionTimeoutMicroseconds of 50000",
    });
    await aborted.opened;
    // On a machine that is busy one that answers at once may be too late, too.
    await expect.poll(() => ask(2)).toMatchObject({ status: 200, outputs: [{ data: [2] }] });
    // An execution that took too long is one all the same.
    const stats = async () => {
      const answer = await fetch(`${server.http}/v2/models/Slow/stats`);
      return ((await answer.json()) as { readonly model_stats: readonly unknown[] }).model_stats[0];
    };
    await expect
      .poll(stats)
      .toMatchObject({ execution_count: calls, batch_stats: [{ compute_infer: { count: calls } }] });
  });
});

const THREADS = {
  modelName: 'Threads',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
} as const;
const MODULE = new URL('../fixtures/instance.js', import.meta.url);
const LIMITED: ModelConfig = { executionTimeoutMicroseconds: 100_000, maxBatchSize: 1 };
const NOT_READY = (model: string) =>
  `model '${model}' is not ready: all instances are busy with batches that took too long`;

/** What the module's callable does for a value of x; see test/fixtures/instance.js. */
const WHAT = { answer: 0, spin: 11, neverSettle: 12 } as const;

async function askThread(http: string, what: keyof typeof WHAT) {
  const answer = await inferJson(http, 'Threads', [
    { name: 'x', datatype: 'INT32', shape: [1, 1], data: [WHAT[what]] },
  ]);
  return { ...answer, thread: answer.outputs?.[1]?.data[0] };
}

async function readiness({ http }: RunningServer, model: string): Promise<number[]> {
  const paths = [`models/${model}/ready`, 'health/ready'];
  return Promise.all(paths.map(async (path) => (await fetch(`${http}/v2/${path}`)).status));
}

async function restartsOf({ metrics }: RunningServer): Promise<number> {
  const text = await (await fetch(metrics)).text();
  return Number(/^tstriton_instance_restarts_total\{.*\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

async function instances({ metrics }: RunningServer): Promise<string | undefined> {
  return (await (await fetch(metrics)).text()).match(/^tstriton_instances\{.*\} (\d+)$/m)?.[1];
}

describe.each([{ serverThread: true }, { serverThread: false }])(
  'a callable that never comes to an end, with executionTimeoutMicroseconds and %o',
  ({ serverThread }) => {
    it.each(['spin', 'neverSettle'] as const)(
      'in an instance thread (%s) has its thread ended and started again',
      async (way) => {
        const start = () =>
          startServer((triton) => void triton.bind({ ...THREADS, config: LIMITED, inferFunc: instanceGroup(MODULE) }), {
            serverThread,
          });
        await using server = await start();
        const answered = async () => {
          let answer = await askThread(server.http, 'answer');
          // On a machine that is busy a thread may take too long for its first batch.
          while (answer.status === 503) answer = await askThread(server.http, 'answer');
          return answer;
        };
        const before = await answered();
        const restarts = await restartsOf(server);
        expect(await askThread(server.http, way)).toMatchObject({
          status: 503,
          error: "model 'Threads' did not answer within its executionTimeoutMicroseconds of 100000",
        });
        await expect.poll(() => restartsOf(server)).toBe(restarts + 1);
        expect(await readiness(server, 'Threads')).toEqual([200, 200]);
        expect(await instances(server)).toBe('1');
        const after = await answered();
        expect(after.status).toBe(200);
        expect(after.thread).not.toBe(before.thread);
      },
    );

    it('in this thread makes its model not ready, refuses what waits, and serves again when it settles', async () => {
      const [began, settle] = [gate(), gate()];
      let calls = 0;
      await using server = await startServer(
        (triton) => {
          triton.bind({
            ...SPEC,
            config: LIMITED,
            inferFunc: async (requests) => {
              if (calls++ === 0) {
                began.open();
                await settle.opened;
              }
              return requests.map(({ inputs }) => ({ y: inputs.x }));
            },
          });
          triton.bind({ ...SPEC, modelName: 'Other', inferFunc: (requests) => requests });
        },
        { serverThread },
      );
      const ask = (model = 'Slow') =>
        inferJson(server.http, model, [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }]);
      const stuck = ask();
      await began.opened;
      const waits = ask();
      const pending = /^nv_inference_pending_request_count\{model="Slow".*\} (\d+)$/m;
      await expect.poll(async () => pending.exec(await (await fetch(server.metrics)).text())?.[1]).toBe('1');
      expect((await stuck).status).toBe(503);
      expect(await waits).toMatchObject({ status: 503, error: NOT_READY('Slow') });
      expect(await readiness(server, 'Slow')).toEqual([400, 400]);
      await expect.poll(() => server.triton.isReady).toBe(false);
      expect(await ask()).toMatchObject({ status: 503, error: NOT_READY('Slow') });
      expect((await ask('Other')).status).toBe(200);
      const index = await fetch(`${server.http}/v2/repository/index`, {
        method: 'POST',
        headers: { 'triton-access-token': server.triton.accessToken ?? '' },
      });
      expect(await index.json()).toContainEqual({
        name: 'Slow',
        version: '1',
        state: 'UNAVAILABLE',
        reason: 'all instances are busy with batches that took too long',
      });
      settle.open();
      await expect.poll(() => readiness(server, 'Slow')).toEqual([200, 200]);
      await expect.poll(() => server.triton.isReady).toBe(true);
      expect((await ask()).status).toBe(200);
      expect(calls).toBe(2);
    });
  },
);

describe('executionTimeoutMicroseconds of a callable that blocks its thread', () => {
  it('answers while the callable still blocks, as the server has a thread of its own', async () => {
    const answered = new Int32Array(new SharedArrayBuffer(4));
    await using server = await startServer((triton) =>
      triton.bind({
        ...SPEC,
        config: { executionTimeoutMicroseconds: 50_000 },
        inferFunc: (requests) => {
          Atomics.wait(answered, 0, 0, WAIT_MILLISECONDS);
          return requests.map(({ inputs }) => ({ y: inputs.x }));
        },
      }),
    );
    const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }] });
    // This thread is busy with the callable, so another one asks, and lets it go when it has the answer.
    const client = new Worker(
      `const { parentPort, workerData: { url, body, answered } } = require('node:worker_threads');
       const from = performance.now();
       fetch(url, { method: 'POST', body }).then(({ status }) => {
         const took = performance.now() - from;
         Atomics.store(answered, 0, 1);
         Atomics.notify(answered, 0);
         parentPort.postMessage({ status, took });
       });`,
      { eval: true, workerData: { url: `${server.http}/v2/models/Slow/infer`, body, answered } },
    );
    const [{ status, took }] = (await once(client, 'message')) as [{ readonly status: number; readonly took: number }];
    await client.terminate();
    expect(status).toBe(503);
    expect(took).toBeGreaterThan(49);
  });
});
