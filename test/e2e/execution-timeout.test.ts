// Callables that take too long: their requests fail in time, their signals abort, and the model serves again.
import { describe, expect, it } from 'vitest';

import { TritonError } from 'tstriton';

import { gate, inferJson, startServer } from '../support/start-server.js';

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
    expect(await ask(2)).toMatchObject({ status: 200, outputs: [{ data: [2] }] });
  });
});

describe('executionTimeoutMicroseconds of a callable that blocks its thread', () => {
  it('still answers in time, as the server has a thread of its own', async () => {
    const released = new Int32Array(new SharedArrayBuffer(4));
    await using server = await startServer((triton) =>
      triton.bind({
        ...SPEC,
        config: { executionTimeoutMicroseconds: 50_000 },
        inferFunc: (requests) => {
          // Four times as long as it may.
          Atomics.wait(released, 0, 0, 200);
          return requests.map(({ inputs }) => ({ y: inputs.x }));
        },
      }),
    );
    const startedAt = performance.now();
    const answer = await inferJson(server.http, 'Slow', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }]);
    expect(answer.status).toBe(503);
    expect(performance.now() - startedAt).toBeGreaterThan(50);
  });
});
