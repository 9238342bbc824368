// The failure story (PyTriton 0.7.0): a generator on an ordinary model that yields never, or more than once, leaves its
// client without an answer and the instance hanging for good. The numbers are those of README.md.
import { describe, expect, it } from 'vitest';

import { batch, type InferFunc, type Triton } from 'tstriton';

import { inferJson, startServer } from '../../support/start-server.js';

const MODEL = {
  modelName: 'M',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
} as const;
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

describe('a generator on a model that is not decoupled', () => {
  it.each<[string, unknown]>([
    ['a generator', function* () {}],
    ['an asynchronous generator', async function* () {}],
    ['a generator under a decorator', batch(function* () {} as never)],
  ])('2: is refused at bind: %s', async (_, inferFunc) => {
    const bind = (triton: Triton) => triton.bind({ ...MODEL, inferFunc: inferFunc as never });
    await expect(startServer(bind)).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: expect.stringContaining('set config.decoupled: true'),
    });
  });

  it.each([0, 1, 2])(
    '2: is answered with an error when bind could not know (%i steps), and the model goes on',
    async (steps) => {
      const generator = (requests: readonly unknown[]) => Array.from({ length: steps }, () => requests).values();
      let first = true;
      const inferFunc: InferFunc = (requests) => {
        const given = first ? (generator(requests) as never) : requests;
        first = false;
        return given;
      };
      await using server = await startServer((triton) => triton.bind({ ...MODEL, inferFunc: inferFunc as never }));
      expect(await inferJson(server.http, 'M', ONE)).toMatchObject({
        status: 500,
        error: expect.stringContaining('must return a list with one result per request'),
      });
      expect(await inferJson(server.http, 'M', ONE)).toMatchObject({
        status: 200,
        outputs: [{ name: 'y', data: [1] }],
      });
    },
  );
});
