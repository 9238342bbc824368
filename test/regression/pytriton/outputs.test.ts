// What PyTriton 0.7.0 makes of outputs that are not as declared, and of errors, asked of ours over the wire. The
// numbers are those of README.md; test/conformance/pytriton-validation.test.ts has every recorded case.
import { describe, expect, it } from 'vitest';

import { Tensor, TritonError, type Triton } from 'tstriton';

import { inferJson, startServer } from '../../support/start-server.js';

const INPUTS = { x: { dtype: 'float32', shape: [1] } } as const;
const OUTPUTS = { y: { dtype: 'int8', shape: [1] }, z: { dtype: 'int8', shape: [1] } } as const;

/** Asks a model for one row, or several. */
async function ask(inferFunc: unknown, strict: boolean, data: readonly number[] = [1]) {
  const bind = (triton: Triton) =>
    triton.bind({ modelName: 'M', inputs: INPUTS, outputs: OUTPUTS, strict, inferFunc: inferFunc as never });
  await using server = await startServer(bind, { serverThread: false });
  return await inferJson(server.http, 'M', [{ name: 'x', datatype: 'FP32', shape: [data.length, 1], data }]);
}

describe('outputs that are not as declared', () => {
  const z = [[1]];
  it.each<[string, unknown]>([
    ['300 for INT8', { y: Tensor.from('int32', [[300]]), z }],
    ['2.7 for INT8', { y: [[2.7]], z }],
    ['NaN for INT8', { y: Tensor.from('float64', [[NaN]]), z }],
    ['a name that is not declared', { y: [[1]], z, zz: z }],
    ['rows that nobody asked for', { y: [[1], [2]], z }],
    ['text for a number', { y: Tensor.from('bytes', [['1']]), z }],
  ])('9: %s are an error, strict or not', async (_, outputs) => {
    for (const strict of [false, true]) {
      expect(await ask(() => [outputs], strict)).toMatchObject({
        status: 500,
        error: expect.stringContaining("model 'M'"),
      });
    }
  });

  it('9: may be missing, unless the model is strict', async () => {
    const some = () => [{ y: [[1]] }];
    expect(await ask(some, false)).toMatchObject({ status: 200, outputs: [{ name: 'y', data: [1] }] });
    expect(await ask(some, true)).toMatchObject({
      status: 500,
      error: expect.stringContaining("returned no output 'z'"),
    });
  });
});

describe('an error of the callable', () => {
  it('20: tells clients its message, and nothing of the server’s files', async () => {
    const { status, error } = await ask(() => {
      throw new Error('division by zero');
    }, false);
    expect(status).toBe(500);
    expect(error).toContain('division by zero');
    expect(error).not.toMatch(/\n|file:|\.ts|\.js| at /);
  });

  it('20: may be meant for one request of a batch', async () => {
    const bind = (triton: Triton) =>
      triton.bind({
        modelName: 'M',
        inputs: INPUTS,
        outputs: { y: { dtype: 'float32', shape: [1] } },
        config: { maxBatchSize: 2, batcher: { maxQueueDelayMicroseconds: 60_000_000 } },
        inferFunc: (requests) => {
          expect(requests).toHaveLength(2);
          return requests.map(({ inputs }) =>
            inputs.x.data[0] === 0
              ? new TritonError('INVALID_ARG', 'x must not be 0')
              : { y: inputs.x.map((value) => 1 / value) },
          );
        },
      });
    await using server = await startServer(bind);
    const answers = await Promise.all(
      [0, 4].map((value) =>
        inferJson(server.http, 'M', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [value] }]),
      ),
    );
    expect(answers).toMatchObject([
      { status: 400, error: expect.stringContaining('x must not be 0') },
      { status: 200, outputs: [{ name: 'y', data: [0.25] }] },
    ]);
  });
});
