import { describe, expect, it } from 'vitest';

import { allSteps, callDecorated, stepsOf } from '../../test/support/decorated-call.js';
import type { Callable, InferenceContext, ModelSpec } from '../model/callable.js';
import { completeModelConfig } from '../model/complete-model.js';
import { marksOf } from '../model/decorated.js';
import { HostedRequest } from '../model/inference-request.js';
import { resolveOutputs } from '../model/resolve-outputs.js';
import { Tensor } from '../tensor/tensor.js';
import { sample } from './sample.js';

type Tensors = Readonly<Record<string, Tensor>>;
type AnyFunc = (inputs: Tensors, context: InferenceContext) => unknown;

const SPEC: ModelSpec = {
  modelName: 'm',
  inputs: { a: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] }, n: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 1 },
};
const WITHOUT_BATCHING: Partial<ModelSpec> = { config: { batching: false } };

function request(a: number[] | number[][], rows = 1, parameters?: Record<string, string>): HostedRequest {
  return new HostedRequest({ a: Tensor.from('float32', a) }, rows, '', parameters);
}

/** Calls `sample(fn)` as the host does. */
function run(fn: AnyFunc, requests: readonly HostedRequest[], changes: Partial<ModelSpec> = {}): unknown {
  return callDecorated(sample(fn as never), requests, { ...SPEC, ...changes }).result;
}

describe('sample', () => {
  it('is marked, so that bind can refuse it where it cannot work', () => {
    expect(marksOf(sample((() => ({})) as never) as Callable)[0]?.decorator).toBe('sample');
  });

  describe('with maxBatchSize: 1', () => {
    it('takes the batch axis off and puts it on again', () => {
      let seen: unknown;
      const results = run(({ a }) => ((seen = a!.toNested()), { y: a, n: [a!.data.length] }), [request([[1, 2]])]);
      expect(seen).toEqual([1, 2]);
      expect(results).toEqual([{ y: Tensor.from('float32', [[1, 2]]), n: Tensor.from('int32', [[2]]) }]);
    });

    it('takes lists, typed arrays and outputs left out', () => {
      expect(run(() => [Float32Array.of(1, 2), [7]], [request([[1]])])).toEqual([
        { y: Tensor.from('float32', [[1, 2]]), n: Tensor.from('int32', [[7]]) },
      ]);
      expect(run(() => ({ n: [7] }), [request([[1]])])).toEqual([{ n: Tensor.from('int32', [[7]]) }]);
    });

    it('awaits an asynchronous function', async () => {
      const results = run(async ({ a }) => Promise.resolve({ y: a }), [request([[1]])]);
      await expect(results).resolves.toEqual([{ y: Tensor.from('float32', [[1]]) }]);
    });

    it('checks what comes back against the declared shapes', async () => {
      const strict = { strict: true };
      expect(() => run(() => ({ y: [1], n: [1, 2] }), [request([[1]])], strict)).toThrow(
        "output 'n' of model 'm' has shape [2], expected [1] (strict: true)",
      );
      expect(() => run(() => ({ z: [1] }), [request([[1]])])).toThrow(
        "model 'm' returned an output 'z' that is not declared",
      );
      await expect(run(() => Promise.resolve({ y: 'x' }), [request([[1]])])).rejects.toThrow(
        "output 'y' of model 'm' is a string",
      );
    });

    it('refuses more than one row', () => {
      expect(() => run(() => ({}), [request([[1], [2]], 2)])).toThrow(
        expect.objectContaining({ code: 'INTERNAL', message: "sample takes one row, got 2 rows of input 'a'" }),
      );
    });
  });

  describe('with batching: false', () => {
    it('hands everything through as it is', () => {
      const only = request([1, 2]);
      let seen: Tensor | undefined;
      const results = run(({ a }) => ((seen = a), { y: a }), [only], WITHOUT_BATCHING) as { y: Tensor }[];
      expect(seen).toBe(only.inputs['a']);
      expect(results[0]!.y).toBe(seen);
      const config = completeModelConfig({ ...SPEC, ...WITHOUT_BATCHING }, 1);
      expect(resolveOutputs(results[0], config, 1)).toEqual([seen, undefined]);
    });

    it('awaits an asynchronous function', async () => {
      const y = Tensor.from('float32', [1]);
      await expect(run(async () => Promise.resolve([y, undefined]), [request([1])], WITHOUT_BATCHING)).resolves.toEqual(
        [[y, undefined]],
      );
    });
  });

  it('gives the request, its parameters and id in the context', () => {
    let seen: unknown;
    run((_, context) => ((seen = context.requests[0]!.parameters['user']), {}), [request([[1]], 1, { user: 'x' })]);
    expect(seen).toBe('x');
  });

  it('throws what the function throws, and rejects with what it rejects with', async () => {
    const error = new Error('out of memory');
    const thrower = () => {
      throw error;
    };
    expect(() => run(thrower, [request([[1]])])).toThrow(error);
    await expect(run(() => Promise.reject(error), [request([[1]])])).rejects.toBe(error);
  });

  it.each([0, 2])('refuses %i requests at a time', (count) => {
    const requests = Array.from({ length: count }, () => request([[1]]));
    expect(() => run(() => ({}), requests)).toThrow(
      expect.objectContaining({ code: 'INTERNAL', message: `sample takes one request at a time, got ${count}` }),
    );
  });

  describe('in a decoupled model', () => {
    const twice = function* ({ a }: Tensors) {
      yield { y: a };
      yield [a, [7]];
    };

    it('puts the batch axis on at every step', async () => {
      const spec: Partial<ModelSpec> = { config: { maxBatchSize: 1, decoupled: true } };
      const y = Tensor.from('float32', [[1, 2]]);
      const steps = [[{ y }], [{ y, n: Tensor.from('int32', [[7]]) }]];
      expect(stepsOf(run(twice, [request([[1, 2]])], spec))).toEqual(steps);
      const slowly = async function* (inputs: Tensors) {
        await Promise.resolve();
        yield* twice(inputs);
      };
      expect(await allSteps(run(slowly, [request([[1, 2]])], spec))).toEqual(steps);
    });

    it('hands steps through without batching', () => {
      const spec: Partial<ModelSpec> = { config: { batching: false, decoupled: true } };
      const y = Tensor.from('float32', [1, 2]);
      expect(stepsOf(run(twice, [request([1, 2])], spec))).toEqual([[{ y }], [[y, [7]]]]);
    });

    it('takes what is returned for the only step', () => {
      const spec: Partial<ModelSpec> = { config: { maxBatchSize: 1, decoupled: true } };
      const y = Tensor.from('float32', [[1, 2]]);
      expect(stepsOf(run(({ a }) => ({ y: a }), [request([[1, 2]])], spec))).toEqual([[{ y }]]);
      expect(() => stepsOf(run(() => undefined, [request([[1]])], spec))).toThrow("model 'm' returned undefined");
    });
  });
});
