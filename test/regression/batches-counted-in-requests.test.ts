// The failure story (BentoML #3859, #3710): the limit of a batch counts requests, so that a few large requests together
// are more rows than the model's memory holds.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { batch } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { startServer } from '../support/start-server.js';

const MODEL = {
  modelName: 'Rows',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { maxBatchSize: 16 },
} as const;

describe('a batch of requests of many rows', () => {
  it('never has more rows than maxBatchSize', async () => {
    let most = 0;
    const callable = batch<typeof MODEL.inputs, typeof MODEL.outputs, false>(async ({ x }) => {
      most = Math.max(most, x.shape[0]!);
      await new Promise((resolve) => setTimeout(resolve, 1));
      return { y: x };
    });
    await using server = await startServer((triton) => void triton.bind({ ...MODEL, inferFunc: callable }));
    await using client = new ModelClient(server.grpc, MODEL);
    const sizes = fc.array(fc.integer({ min: 1, max: 16 }), { minLength: 2, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(sizes, async (rows) => {
        await Promise.all(rows.map((count) => client.inferBatch({ x: new Float32Array(count) })));
        return most <= 16;
      }),
      { numRuns: 20 },
    );
    expect(most).toBeGreaterThan(1);
  });

  it('has no room for a request of more rows, which is refused', async () => {
    await using server = await startServer(
      (triton) => void triton.bind({ ...MODEL, inferFunc: (requests) => requests }),
    );
    await using client = new ModelClient(server.http, MODEL);
    await expect(client.inferBatch({ x: new Float32Array(17) })).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: "[request id: <id_unknown>] inference request batch-size must be <= 16 for 'Rows'",
    });
  });
});
