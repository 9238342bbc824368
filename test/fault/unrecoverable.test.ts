// An unrecoverable error answers its requests and ends the server, from wherever it is thrown.
import { describe, expect, it } from 'vitest';

import { batch, defineModel, Triton, TritonUnrecoverableError } from 'tstriton';

import { FREE_PORTS, inferJson } from '../support/start-server.js';

const model = defineModel({
  modelName: 'Fatal',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
});
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

describe.each([{ serverThread: true }, { serverThread: false }])(
  'an unrecoverable error with %o',
  ({ serverThread }) => {
    it.each([
      [
        'a raw callable',
        () => {
          throw new TritonUnrecoverableError('the device was lost', { cause: new Error('reset') });
        },
      ],
      [
        'an asynchronous one',
        async () => {
          throw new TritonUnrecoverableError('the device was lost');
        },
      ],
      [
        'batch',
        batch(() => {
          throw new TritonUnrecoverableError('the device was lost');
        }),
      ],
      [
        'one request of a batch',
        (requests: readonly unknown[]) => requests.map(() => new TritonUnrecoverableError('the device was lost')),
      ],
    ])('from %s answers, then ends serve() with it within a second', async (_where, inferFunc) => {
      const triton = new Triton({ ...FREE_PORTS, serverThread });
      triton.bind({ ...model, inferFunc: inferFunc as never });
      let told: unknown;
      triton.onUnrecoverable = (error) => (told = error);
      const served = triton.serve();
      await triton.ready();
      const from = performance.now();
      const [answer, ended] = await Promise.allSettled([
        inferJson(`http://127.0.0.1:${triton.httpPort}`, 'Fatal', ONE),
        served,
      ]);
      expect(answer).toMatchObject({ value: { status: 500, error: 'the device was lost' } });
      expect(ended).toMatchObject({ status: 'rejected', reason: { message: 'the device was lost' } });
      expect(told).toMatchObject({ message: 'the device was lost' });
      await triton.stop();
      expect(performance.now() - from).toBeLessThan(1000);
      expect(triton.httpPort).toBeUndefined();
    });
  },
);
