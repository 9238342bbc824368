import { describe, expect, it } from 'vitest';

import {
  callDecorated,
  requestOf,
  stepsOf,
  type AnyInferFunc,
  type Tensors,
} from '../../test/support/decorated-call.js';
import type { ModelSpec } from '../model/callable.js';
import { checkCallables } from '../model/check-callables.js';
import { completeModelConfig } from '../model/complete-model.js';
import { HostedRequest } from '../model/inference-request.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';
import { fillOptionals } from './fill-optionals.js';

const SPEC: ModelSpec = {
  modelName: 'm',
  inputs: {
    s: { dtype: 'string', shape: [1], optional: true },
    a: { dtype: 'float32', shape: [1] },
    b: { dtype: 'float32', shape: [2], optional: true },
  },
  outputs: { y: { dtype: 'float32', shape: [2] } },
};

const a = (...values: number[]) => Tensor.from('float32', values.map((value) => [value])); // prettier-ignore
const b = (...rows: [number, number][]) => Tensor.from('float32', rows);

function fill(defaults: object, fn: unknown): never {
  return fillOptionals(defaults as never, fn as never) as never;
}

/** The inputs that a raw function gets when `requests` are filled. */
function filled(defaults: object, requests: readonly HostedRequest[], spec: Partial<ModelSpec> = {}): Tensors[] {
  let seen: Tensors[] = [];
  callDecorated(
    fill(defaults, (given: readonly HostedRequest[]) => ((seen = given.map(({ inputs }) => inputs)), given)),
    requests,
    { ...SPEC, ...spec },
  );
  return seen;
}

/** The default of one input, as a request without it gets it. */
function defaultOf(value: unknown, spec: { dtype: string; shape: readonly number[] }): Tensor {
  const inputs = { a: { dtype: 'float32', shape: [1] }, v: { ...spec, optional: true } } as TensorSpecs;
  return filled({ v: value }, [requestOf({ a: a(1) })], { inputs })[0]!['v']!;
}

describe('fillOptionals', () => {
  it('gives each request that leaves an input out its default, a row for each of its rows', () => {
    const given = requestOf({ a: a(3), b: b([7, 8]) });
    const [first, second] = filled({ b: [5, 6] }, [requestOf({ a: a(1, 2) }), given]);
    expect(first).toEqual({ a: a(1, 2), b: b([5, 6], [5, 6]) });
    expect(second).toEqual(given.inputs);
  });

  it('gives the declared shape to models without a batch axis', () => {
    const request = new HostedRequest({ a: Tensor.from('float32', [1]) }, 1, '', undefined);
    expect(filled({ b: [5, 6] }, [request], { config: { batching: false } })).toEqual([
      { a: Tensor.from('float32', [1]), b: Tensor.from('float32', [5, 6]) },
    ]);
  });

  it('keeps the inputs in declaration order', () => {
    const [inputs] = filled({ s: ['x'], b: [1, 2] }, [requestOf({ a: a(1) })]);
    expect(Object.keys(inputs!)).toEqual(['s', 'a', 'b']);
  });

  it('hands requests through that have everything', () => {
    const requests = [requestOf({ a: a(1), b: b([1, 2]) })];
    let seen: readonly unknown[] = [];
    callDecorated(
      fill({ b: [5, 6] }, (given: unknown) => ((seen = given as unknown[]), [{}])),
      requests,
      SPEC,
    );
    expect(seen).toHaveLength(1);
    expect(seen[0]).toBe(requests[0]);
  });

  it.each([{ batching: true }, { batching: false }])('gives copies of its defaults, with %o', (config) => {
    const seen: unknown[] = [];
    const spoil = (requests: readonly HostedRequest[]) => {
      const { data } = requests[0]!.inputs['b'] as Tensor<'float32'>;
      seen.push([...data]);
      data.fill(-1);
      return requests;
    };
    const callable = fill({ b: Float32Array.of(5, 6) }, spoil);
    const request = requestOf({ a: a(1) });
    for (let call = 0; call < 2; call++) callDecorated(callable, [request], { ...SPEC, config });
    expect(seen).toEqual([[5, 6], [5, 6]]); // prettier-ignore
    expect(Object.keys(request.inputs)).toEqual(['a']);
  });

  it('keeps parameters, id and signal, and shows the filled requests in the context', () => {
    const request = new HostedRequest({ a: a(1) }, 1, '7', { user: 'x' });
    let seen: HostedRequest | undefined;
    let same: unknown;
    callDecorated(
      fill({ b: [5, 6] }, ((requests, context) => {
        seen = requests[0];
        same = context.requests[0] === seen;
        return [{}];
      }) satisfies AnyInferFunc),
      [request],
      SPEC,
    );
    expect(same).toBe(true);
    expect([seen!.id, seen!.parameters]).toEqual(['7', { user: 'x' }]);
    request.abort();
    expect(seen!.signal.aborted).toBe(true);
  });

  it('lets batch join requests with and without the input', () => {
    const sum = batch((({ a: x, b: added }: { a: Tensor<'float32'>; b: Tensor<'float32'> }) => ({
      y: added.map((value, i) => value + x.data[Math.floor(i / 2)]!),
    })) as never);
    const requests = [requestOf({ a: a(1, 2) }), requestOf({ a: a(3), b: b([7, 8]) })];
    expect(callDecorated(fill({ b: [5, 6] }, sum), requests, SPEC).result).toEqual([
      { y: b([6, 7], [7, 8]) },
      { y: b([10, 11]) },
    ]);
  });

  it('knows the rows of requests that left every input out', () => {
    const optional = { b: { dtype: 'float32', shape: [2], optional: true } } as const;
    const seen: unknown[] = [];
    const callable = fill(
      { b: [5, 6] },
      batch((({ b: rows }: Tensors) => (seen.push(rows!.shape), { y: rows })) as never),
    );
    callDecorated(callable, [new HostedRequest({}, 3, '', undefined)], { ...SPEC, inputs: optional });
    expect(seen).toEqual([[3, 2]]);
  });

  it('works for asynchronous functions and generators', async () => {
    const request = requestOf({ a: a(1) });
    const inputsOf = (requests: readonly HostedRequest[]) => requests.map(({ inputs }) => inputs['b']!.toNested());
    const waiting = fill({ b: [5, 6] }, async (given: readonly HostedRequest[]) => Promise.resolve(inputsOf(given)));
    expect(await callDecorated(waiting, [request], SPEC).result).toEqual([[[5, 6]]]);
    const yielding = fill({ b: [5, 6] }, function* (given: readonly HostedRequest[]) {
      yield inputsOf(given);
    });
    const decoupled: ModelSpec = { ...SPEC, config: { decoupled: true } };
    expect(stepsOf(callDecorated(yielding, [request], decoupled).result)).toEqual([[[[5, 6]]]]);
  });

  it('serves two models with defaults of each', () => {
    const callable = fill({ b: [5, 6] }, (given: readonly HostedRequest[]) =>
      given.map(({ inputs }) => inputs['b']!.dtype),
    );
    const other: ModelSpec = {
      ...SPEC,
      inputs: { a: { dtype: 'float32', shape: [1] }, b: { dtype: 'int64', shape: [2], optional: true } },
    };
    for (const [spec, dtype] of [[SPEC, 'float32'], [other, 'int64'], [SPEC, 'float32']] as const) {
      expect(callDecorated(callable, [requestOf({ a: a(1) })], spec).result).toEqual([dtype]);
    } // prettier-ignore
  });
});

describe('a default', () => {
  it.each<[string, unknown, { dtype: string; shape: readonly number[] }, Tensor]>([
    ['a tensor', Tensor.from('float32', [1, 2]), { dtype: 'float32', shape: [2] }, Tensor.from('float32', [[1, 2]])],
    ['a typed array', Float32Array.of(1, 2), { dtype: 'float32', shape: [2] }, Tensor.from('float32', [[1, 2]])],
    ['a flat list', [1, 2, 3, 4], { dtype: 'float32', shape: [2, 2] }, Tensor.from('float32', [[[1, 2], [3, 4]]])],
    ['nested lists', [[1, 2], [3, 4]], { dtype: 'float32', shape: [2, 2] }, Tensor.from('float32', [[[1, 2], [3, 4]]])],
    ['a list for an open dimension', [1, 2, 3], { dtype: 'float32', shape: [-1] }, Tensor.from('float32', [[1, 2, 3]])],
    ['one number', 0.5, { dtype: 'float32', shape: [1] }, Tensor.from('float32', [[0.5]])],
    ['one number for a scalar', 0.5, { dtype: 'float32', shape: [] }, Tensor.from('float32', [0.5])],
    ['a number for a bigint', 3, { dtype: 'int64', shape: [1] }, Tensor.from('int64', [[3n]])],
    ['a boolean', true, { dtype: 'bool', shape: [1] }, Tensor.from('bool', [[true]])],
    ['a string', 'dé', { dtype: 'string', shape: [1] }, Tensor.from('string', [['dé']])],
    ['a string for bytes', 'dd', { dtype: 'bytes', shape: [1] }, Tensor.from('bytes', [['dd']])],
    ['bytes', Uint8Array.of(0, 255), { dtype: 'bytes', shape: [1] }, Tensor.from('bytes', [[Uint8Array.of(0, 255)]])],
    ['a list of strings', ['a', 'b'], { dtype: 'string', shape: [2] }, Tensor.from('string', [['a', 'b']])],
    ['bytes of an unsigned type', Uint8Array.of(1, 2), { dtype: 'uint8', shape: [2] }, Tensor.from('uint8', [[1, 2]])],
  ])('may be %s', (_, value, spec, expected) => {
    expect(defaultOf(value, spec)).toEqual(expected);
  }); // prettier-ignore

  it.each<[object, string]>([
    [{ zz: [1] }, "fillOptionals names an input 'zz' that model 'm' does not have; it has s, a, b"],
    [{ bogus: [1] }, "fillOptionals names an input 'bogus' that model 'm' does not have; it has s, a, b"],
    [{ a: [1] }, "fillOptionals has a default for input 'a' of model 'm', which is not optional"],
    [{ b: Float64Array.of(1, 2) }, "the default of input 'b' of model 'm' is a Float64Array, expected float32"],
    [{ b: Tensor.from('float64', [1, 2]) }, "the default of input 'b' of model 'm' has dtype float64, expected float32"],
    [{ b: [5] }, "the default of input 'b' of model 'm' has shape [1], expected [2], without a batch axis"],
    [{ b: [[5, 6]] }, "the default of input 'b' of model 'm' has shape [1,2], expected [2], without a batch axis"],
    [{ b: 5 }, "the default of input 'b' of model 'm' has shape [1], expected [2], without a batch axis"],
    [{ b: ['x', 'y'] }, "the default of input 'b' of model 'm': element 0 does not fit float32: expected a number, got \"x\""],
    [{ s: 7 }, "the default of input 's' of model 'm': element 0 does not fit string: expected a string, got 7"],
    [{ b: undefined }, "the default of input 'b' of model 'm' is undefined, expected a Tensor, a typed array or nested arrays"],
  ])('like %j is refused at bind', (defaults, problem) => {
    const callable = fill(defaults, () => []);
    expect(() => checkCallables(callable, 'm', completeModelConfig(SPEC, 1))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: `inferFunc of model 'm': ${problem}` }),
    );
  }); // prettier-ignore
});
