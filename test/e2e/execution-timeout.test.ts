// Callables that take too long: their requests fail in time, their signals abort, and the model serves again.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { describe, expect, it } from 'vitest';

import { TritonError } from 'tstriton';

import { gate, inferJson, startServer } from '../support/start-server.js';
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
  });
});

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
