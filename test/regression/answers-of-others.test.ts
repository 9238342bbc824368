// The failure story (MLServer #1306, #1911): when a batch is divided again, a client gets rows that belong to another,
// or as many as another sent.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { batch, Tensor } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { startServer } from '../support/start-server.js';

const MODEL = {
  modelName: 'Split',
  inputs: { x: { dtype: 'int32', shape: [-1] }, s: { dtype: 'string', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [-1] }, t: { dtype: 'string', shape: [1] } },
  config: { maxBatchSize: 8 },
} as const;

describe('requests of different sizes in one batch', () => {
  it.each([true, false])(
    'get their own rows back, whatever the others sent (serverThread: %s)',
    async (serverThread) => {
      const callable = batch<typeof MODEL.inputs, typeof MODEL.outputs, false>(async ({ x, s }) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return { y: x.map((value) => 0 - value), t: s.map((text) => `${text}!`) };
      });
      await using server = await startServer((triton) => void triton.bind({ ...MODEL, inferFunc: callable }), {
        serverThread,
      });
      await using grpc = new ModelClient(server.grpc, MODEL);
      await using http = new ModelClient(server.http, MODEL);
      const question = fc.record({ rows: fc.integer({ min: 1, max: 8 }), width: fc.integer({ min: 0, max: 3 }) });
      await fc.assert(
        fc.asyncProperty(fc.array(question, { minLength: 2, maxLength: 24 }), async (questions) => {
          await Promise.all(
            questions.map(async ({ rows, width }, asker) => {
              const row = (index: number) => Array.from({ length: width }, (_, i) => asker * 1000 + index * 10 + i);
              const x = Array.from({ length: rows }, (_, index) => row(index));
              const s = x.map((_, index) => [`${asker}/${index}`]);
              const client = asker % 2 === 0 ? grpc : http;
              const { y, t } = await client.inferBatch({
                x: new Tensor('int32', Int32Array.from(x.flat()), [rows, width]),
                s,
              });
              expect([...y!.data]).toEqual(x.flat().map((value) => 0 - value));
              expect(y!.shape).toEqual([rows, width]);
              expect(t!.data).toEqual(s.map(([text]) => `${text}!`));
            }),
          );
        }),
        { numRuns: 15 },
      );
    },
  );
});
