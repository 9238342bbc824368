// What PyTriton 0.7.0's documents say that `bind` takes and it does not, and what it takes and cannot serve. The numbers
// are those of README.md; test/conformance/bind-conformance.test.ts has every recorded case.
import { describe, expect, it } from 'vitest';

import { Triton, type BoundModel, type Tensor, type TensorSpecs } from 'tstriton';

import { inferJson, startServer } from '../../support/start-server.js';

type AnyModel = BoundModel<TensorSpecs, TensorSpecs, false>;

const MODEL: AnyModel = {
  modelName: 'M',
  inputs: [{ dtype: 'float32', shape: [1] }],
  outputs: [{ dtype: 'float32', shape: [1] }],
  inferFunc: ((requests: readonly unknown[]) => requests) as never,
};

describe('bind', () => {
  it('21: serves the documents’ Identity, whose callable returns the requests', async () => {
    await using server = await startServer((triton) => triton.bind(MODEL));
    const inputs = [{ name: 'INPUT_1', datatype: 'FP32', shape: [2, 1], data: [1.5, 2] }];
    expect(await inferJson(server.http, 'M', inputs)).toMatchObject({
      status: 200,
      outputs: [{ name: 'OUTPUT_1', shape: [2, 1], data: [1.5, 2] }],
    });
  });

  it.each(['float32', 'FP32', Float32Array] as const)('21: takes the dtype written as %s', (dtype) => {
    expect(() => new Triton().bind({ ...MODEL, inputs: [{ dtype, shape: [1] }] } as AnyModel)).not.toThrow();
  });

  it.each<[string, object]>([
    ['a name with a line end', { modelName: 'M\n' }],
    ['a name that is a path', { modelName: '..' }],
    ['two inputs of one name', { inputs: [{ name: 'x', dtype: 'float32', shape: [1] }, { name: 'x', dtype: 'float32', shape: [1] }] }],
    ['an input with an empty name', { inputs: [{ name: '', dtype: 'float32', shape: [1] }] }],
    ['a dimension of 0', { inputs: [{ dtype: 'float32', shape: [0] }] }],
    ['inputs that are undefined', { inputs: undefined }],
    ['no callable at all', { inferFunc: [] }],
    ['a string for the callable', { inferFunc: 'model.py' }],
    ['a negative queue delay', { config: { batcher: { maxQueueDelayMicroseconds: -1 } } }],
    ['a preferred size above the maximum', { config: { maxBatchSize: 4, batcher: { preferredBatchSize: [8] } } }],
  ])('refuses %s at once, and goes on', async (_, changes) => {
    const triton = new Triton();
    expect(() => triton.bind({ ...MODEL, ...changes })).toThrow(expect.objectContaining({ code: 'INVALID_ARG' }));
    expect(() => triton.bind(MODEL)).not.toThrow();
  }); // prettier-ignore

  it('refuses a model on a server that runs, whose readiness stays', async () => {
    await using server = await startServer((triton) => triton.bind(MODEL), { serverThread: false });
    const bad = { ...MODEL, modelName: 'Bad', config: { maxBatchSize: 4, batcher: { preferredBatchSize: [8] } } };
    expect(() => server.triton.bind(bad)).toThrow(expect.objectContaining({ code: 'INVALID_ARG' }));
    expect((await fetch(`${server.http}/v2/health/ready`)).status).toBe(200);
    server.triton.bind({ ...MODEL, modelName: 'Next' });
    await server.triton.ready('Next');
  });

  it('serves two versions of a model side by side', async () => {
    const factor = (by: number) =>
      ((requests: readonly { readonly inputs: { readonly INPUT_1: Tensor<'float32'> } }[]) =>
        requests.map(({ inputs }) => [inputs.INPUT_1.map((value) => by * value)])) as never;
    await using server = await startServer((triton) => {
      triton.bind({ ...MODEL, inferFunc: factor(10) });
      triton.bind({ ...MODEL, modelVersion: 2, inferFunc: factor(20) });
    });
    const inputs = [{ name: 'INPUT_1', datatype: 'FP32', shape: [1, 1], data: [1] }];
    for (const [model, expected] of [['M/versions/1', 10], ['M/versions/2', 20], ['M', 20]] as const) {
      expect(await inferJson(server.http, model, inputs)).toMatchObject({ status: 200, outputs: [{ data: [expected] }] });
    } // prettier-ignore
  });
});
