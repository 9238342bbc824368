import { describe, expect, it } from 'vitest';

import { allSteps, callDecorated, requestOf, stepsOf, type Tensors } from '../../test/support/decorated-call.js';
import type { ModelSpec } from '../model/callable.js';
import type { Dtype } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';
import { firstValue, type FirstValueOptions } from './first-value.js';

type ValueFunc = (values: Readonly<Record<string, unknown>>) => unknown;

interface Changes extends FirstValueOptions {
  readonly names?: readonly string[];
  readonly k?: { readonly dtype: Dtype; readonly shape: readonly number[]; readonly optional?: boolean };
  readonly decoupled?: boolean;
}

const x = (...values: number[]) => Tensor.from('float32', values.map((value) => [value])); // prettier-ignore

function run(fn: ValueFunc, requests: readonly Tensors[], changes: Changes = {}): unknown {
  const { names = ['k'], k = { dtype: 'int32', shape: [1], optional: true }, decoupled = false, ...options } = changes;
  const spec: ModelSpec = {
    modelName: 'm',
    inputs: { x: { dtype: 'float32', shape: [1] }, k },
    outputs: { y: { dtype: 'float32', shape: [1] } },
    config: { decoupled },
  };
  const callable = batch(firstValue(names as never, fn as never, options) as never);
  return callDecorated(callable, requests.map((inputs) => requestOf(inputs)), spec).result; // prettier-ignore
}

/** What the function gets for `k`. */
function valueOf(k: Tensor, changes: Changes = {}): unknown {
  let seen: unknown;
  const rows = x(...k.rows().map(() => 0));
  run((values) => ((seen = values['k']), {}), [{ x: rows, k }], {
    k: { dtype: k.dtype, shape: k.shape.slice(1) },
    ...changes,
  });
  return seen;
}

describe('firstValue', () => {
  it('gives the value that all rows of all requests share, and the other inputs whole', () => {
    let seen: unknown;
    const result = run(
      (values) => ((seen = values), { y: values['x'] }),
      [
        { x: x(1, 2), k: Tensor.from('int32', [[7], [7]]) },
        { x: x(3), k: Tensor.from('int32', [[7]]) },
      ],
    );
    expect(seen).toEqual({ x: x(1, 2, 3), k: 7 });
    expect(result).toEqual([{ y: x(1, 2) }, { y: x(3) }]);
  });

  it.each<[Tensor, unknown]>([
    [Tensor.from('float64', [[0.1]]), 0.1],
    [Tensor.from('float16', [[1.5]]), 1.5],
    [Tensor.from('int64', [[2n ** 60n]]), 2n ** 60n],
    [Tensor.from('bool', [[true]]), true],
    [Tensor.from('string', [['de']]), 'de'],
    [Tensor.from('bytes', [[Uint8Array.of(0, 255)]]), Uint8Array.of(0, 255)],
    [Tensor.from('int8', [[[3]]]), 3],
    [Tensor.from('int8', [3]), 3],
  ])('gives %o as a plain value', (k, value) => {
    expect(valueOf(k)).toEqual(value);
  });

  it('gives rows of several elements without the batch axis', () => {
    const rows = Tensor.from('string', [['a', 'b'], ['a', 'b']]); // prettier-ignore
    expect(valueOf(rows)).toEqual(Tensor.from('string', ['a', 'b']));
  });

  it('goes by the declared shape, not by the size of the moment', () => {
    expect(valueOf(Tensor.from('int8', [[3]]), { k: { dtype: 'int8', shape: [-1] } })).toEqual(
      Tensor.from('int8', [3]),
    );
  });

  it('leaves single values in a tensor when asked to', () => {
    const k = Tensor.from('int8', [[[3]], [[3]]]);
    expect(valueOf(k, { squeezeSingleValues: false })).toEqual(Tensor.from('int8', [[3]]));
  });

  it('takes several names, and skips inputs that were not sent', () => {
    let seen: unknown;
    const keep: ValueFunc = (values) => ((seen = values), {});
    run(keep, [{ x: x(1, 1), k: Tensor.from('int32', [[7], [7]]) }], { names: ['x', 'k'] });
    expect(seen).toEqual({ x: 1, k: 7 });
    run(keep, [{ x: x(1, 1) }], { names: ['x', 'k'] });
    expect(seen).toEqual({ x: 1 });
    run(keep, [{ x: x(1, 1) }], { names: [] });
    expect(seen).toEqual({ x: x(1, 1) });
  });

  it.each<[string, Tensor]>([
    ['NaNs', Tensor.from('float32', [[NaN], [NaN]])],
    ['NaNs of other bits', new Tensor('float16', Uint16Array.of(0x7e00, 0x7e01), [2, 1])],
    ['0 and -0', Tensor.from('float64', [[0], [-0]])],
    ['rows of two strings', Tensor.from('string', [['a', 'b'], ['a', 'b']])],
    ['bytes', Tensor.from('bytes', [[Uint8Array.of(1, 2)], [Uint8Array.of(1, 2)]])],
  ])('takes %s for the same', (_, k) => {
    expect(() => valueOf(k)).not.toThrow();
  }); // prettier-ignore

  it.each<[string, Tensor]>([
    ['numbers', Tensor.from('int32', [[7], [8]])],
    ['later rows', Tensor.from('int32', [[7], [7], [8]])],
    ['a last element', Tensor.from('int32', [[7, 8], [7, 9]])],
    ['strings', Tensor.from('string', [['a'], ['b']])],
    ['bytes', Tensor.from('bytes', [[Uint8Array.of(1)], [Uint8Array.of(1, 0)]])],
    ['a NaN and a number', Tensor.from('float32', [[NaN], [1]])],
  ])('refuses rows that differ in %s, unless it is not strict', (_, k) => {
    expect(() => valueOf(k)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message:
          "the rows of input 'k' for model 'm' have different values, expected one value for the batch; " +
          "put groupByValues(['k'], …) around firstValue, or pass strict: false to take the first row's",
      }),
    );
    expect(valueOf(k, { strict: false, squeezeSingleValues: false })).toEqual(k.row(0));
  }); // prettier-ignore

  it('refuses values that differ between requests', () => {
    const requests = [7, 8].map((value) => ({ x: x(1), k: Tensor.from('int32', [[value]]) }));
    expect(() => run(() => ({}), requests)).toThrow("the rows of input 'k' for model 'm' have different values");
  });

  it('works for asynchronous functions and generators', async () => {
    const inputs = { x: x(1), k: Tensor.from('int32', [[7]]) };
    expect(await run(async ({ k }) => Promise.resolve({ y: [[k]] }), [inputs])).toEqual([{ y: x(7) }]);
    const twice = function* ({ k }: Readonly<Record<string, unknown>>) {
      yield { y: [[k]] };
      yield { y: [[-(k as number)]] };
    };
    const steps = [[{ y: x(7) }], [{ y: x(-7) }]];
    expect(stepsOf(run(twice, [inputs], { decoupled: true }))).toEqual(steps);
    const slowly = async function* (values: Readonly<Record<string, unknown>>) {
      await Promise.resolve();
      yield* twice(values);
    };
    expect(await allSteps(run(slowly, [inputs], { decoupled: true }))).toEqual(steps);
  });
});
