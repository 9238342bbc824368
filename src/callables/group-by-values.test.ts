import { describe, expect, it } from 'vitest';

import {
  allSteps,
  callDecorated,
  requestOf,
  stepsOf,
  type AnyTensorFunc,
  type Tensors,
} from '../../test/support/decorated-call.js';
import type { ModelSpec } from '../model/callable.js';
import type { Dtype } from '../tensor/dtype.js';
import type { Nested } from '../tensor/nested.js';
import { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';
import { constantPadder } from './constant-padder.js';
import { groupByValues, type GroupByValuesOptions } from './group-by-values.js';

const SPEC: ModelSpec = {
  modelName: 'm',
  inputs: { x: { dtype: 'float32', shape: [1] }, k: { dtype: 'int32', shape: [1], optional: true } },
  outputs: { y: { dtype: 'float32', shape: [-1] }, n: { dtype: 'int32', shape: [1] } },
};

const x = (...values: number[]) => columnOf('float32', values);

function columnOf(dtype: Dtype, values: readonly Nested[]): Tensor {
  return Tensor.from(dtype, values.map((value) => [value]) as Nested);
}

interface Changes extends GroupByValuesOptions {
  readonly names?: readonly string[];
  readonly spec?: Partial<ModelSpec>;
}

/** Calls the decorated function under `batch`; `k` is what the rows are grouped by. */
function run(fn: AnyTensorFunc, requests: readonly Tensors[], changes: Changes = {}): unknown {
  const { names = ['k'], spec = {}, ...options } = changes;
  const callable = batch(groupByValues(names as never, fn as never, options) as never);
  const { result } = callDecorated(callable, requests.map((inputs) => requestOf(inputs)), { ...SPEC, ...spec }); // prettier-ignore
  return result;
}

/** The values of x in each call when rows are grouped by `k`. */
function groupsBy(k: Tensor, specs: { dtype: Dtype; shape: readonly number[] }): number[][] {
  const calls: number[][] = [];
  const rows = x(...k.rows().map((_, row) => row));
  run((inputs) => (calls.push([...(inputs['x']!.data as Float32Array)]), {}), [{ x: rows, k }], {
    spec: { inputs: { x: { dtype: 'float32', shape: [1] }, k: specs } },
  });
  return calls;
}

describe('groupByValues', () => {
  it('leaves no rejected promise to the process, whichever group gives one', async () => {
    const fn = () => ({ y: Promise.reject(new Error('not seen')) });
    const k = columnOf('int32', [1, 2]);
    expect(() => run(fn, [{ x: x(1, 2), k }])).toThrow("output 'y' of model 'm' is a Promise");
    // A rejection that nobody takes would fail this file.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('calls once for each value, in the order of the first rows, and puts the rows back', () => {
    const calls: unknown[] = [];
    const result = run(
      (inputs) => {
        calls.push([inputs['k']!.toNested(), inputs['x']!.toNested()]);
        return {
          y: inputs['x']!.map((value) => 10 * (value as number)),
          n: inputs['x']!.rows().map(() => [calls.length]),
        };
      },
      [
        { x: x(1, 2), k: columnOf('int32', [256, 1]) },
        { x: x(3, 4), k: columnOf('int32', [1, 256]) },
      ],
    );
    expect(calls).toEqual([[[[256], [256]], [[1], [4]]], [[[1], [1]], [[2], [3]]]]); // prettier-ignore
    expect(result).toEqual([
      { y: x(10, 20), n: columnOf('int32', [1, 2]) },
      { y: x(30, 40), n: columnOf('int32', [2, 1]) },
    ]);
  });

  it('gives one value the tensors as they are', () => {
    const only = { x: x(1, 2), k: columnOf('int32', [7, 7]) };
    let seen: Tensors | undefined;
    run((inputs) => ((seen = inputs), {}), [only]);
    expect(seen!['x']).toBe(only.x);
  });

  it('calls once without names, and where the named input was not sent', () => {
    const calls: number[] = [];
    const count: AnyTensorFunc = (inputs) => (calls.push(inputs['x']!.rowCount), {});
    run(count, [{ x: x(1, 2), k: columnOf('int32', [1, 2]) }], { names: [] });
    run(count, [{ x: x(1, 2) }]);
    expect(calls).toEqual([2, 2]);
  });

  it.each<[string, Tensor, { dtype: Dtype; shape: readonly number[] }, number[][]]>([
    ['integers', columnOf('int32', [-1, 0, 1, 0]), { dtype: 'int32', shape: [1] }, [[0], [1, 3], [2]]],
    ['64-bit integers', columnOf('int64', [2n ** 60n, 2n ** 60n + 1n, 2n ** 60n]), { dtype: 'int64', shape: [1] }, [[0, 2], [1]]],
    ['all NaNs as one', columnOf('float32', [NaN, 1, NaN]), { dtype: 'float32', shape: [1] }, [[0, 2], [1]]],
    ['0 and -0 as one', columnOf('float64', [0, -0, 1]), { dtype: 'float64', shape: [1] }, [[0, 1], [2]]],
    ['NaNs and zeros in rows of several', Tensor.from('float32', [[NaN, 0], [NaN, -0], [1, 0]]), { dtype: 'float32', shape: [2] }, [[0, 1], [2]]],
    ['half floats by value', new Tensor('float16', Uint16Array.of(0x7e00, 0x7e01, 0x8000, 0), [4, 1]), { dtype: 'float16', shape: [1] }, [[0, 1], [2, 3]]],
    ['booleans', columnOf('bool', [true, false, true]), { dtype: 'bool', shape: [1] }, [[0, 2], [1]]],
    ['strings', columnOf('string', ['b', 'a', 'b', '']), { dtype: 'string', shape: [1] }, [[0, 2], [1], [3]]],
    ['strings of any length', columnOf('string', ['aa', 'aaa', 'aa']), { dtype: 'string', shape: [1] }, [[0, 2], [1]]],
    ['several strings of a row', Tensor.from('string', [['a', 'b,c'], ['a,b', 'c'], ['a', 'b,c']]), { dtype: 'string', shape: [2] }, [[0, 2], [1]]],
    ['bytes', columnOf('bytes', [Uint8Array.of(0), Uint8Array.of(0, 0), Uint8Array.of(0), Uint8Array.of(255)]), { dtype: 'bytes', shape: [1] }, [[0, 2], [1], [3]]],
    ['scalars', Tensor.from('int8', [1, 2, 1]), { dtype: 'int8', shape: [] }, [[0, 2], [1]]],
  ])('groups %s', (_, k, spec, groups) => {
    expect(groupsBy(k, spec)).toEqual(groups);
  }); // prettier-ignore

  it('groups by several inputs together', () => {
    const calls: unknown[] = [];
    run((inputs) => (calls.push(inputs['x']!.toNested()), {}), [{ x: x(1, 1, 1, 2), k: columnOf('int32', [5, 6, 5, 5]) }], { names: ['x', 'k'] }); // prettier-ignore
    expect(calls).toEqual([[[1], [1]], [[1]], [[2]]]); // prettier-ignore
  });

  it('takes lists of outputs, nested arrays and other dtypes, as every callable may give', () => {
    const result = run(
      (inputs) => [inputs['k']!, inputs['x']!.rows().map(() => [9])],
      [{ x: x(1, 2), k: columnOf('int32', [256, 1]) }],
    );
    expect(result).toEqual([{ y: x(256, 1), n: columnOf('int32', [9, 9]) }]);
  });

  it('calls asynchronous functions one after the other', async () => {
    let running = 0;
    const result = run(
      async (inputs) => {
        expect(++running).toBe(1);
        await Promise.resolve();
        running--;
        return { y: inputs['x'] };
      },
      [{ x: x(1, 2, 3), k: columnOf('int32', [3, 2, 1]) }],
    );
    expect(await result).toEqual([{ y: x(1, 2, 3) }]);
  });

  it('leaves an output out that no group has', () => {
    expect(run((inputs) => ({ y: inputs['x'] }), [{ x: x(1, 2), k: columnOf('int32', [1, 2]) }])).toEqual([
      { y: x(1, 2) },
    ]);
  });

  it('refuses an output that only some groups have', () => {
    const some: AnyTensorFunc = (inputs) => (inputs['k']!.data[0] === 2 ? { n: [[1]] } : { y: inputs['x'], n: [[1]] });
    expect(() => run(some, [{ x: x(1, 2, 3), k: columnOf('int32', [1, 2, 3]) }])).toThrow(
      expect.objectContaining({
        code: 'INTERNAL',
        message: "groupByValues: output 'y' of model 'm' is missing for 1 of 3 groups",
      }),
    );
  });

  it('refuses a group with other rows than it got', () => {
    expect(() => run(() => ({ y: [[1], [2]] }), [{ x: x(1, 2), k: columnOf('int32', [1, 2]) }])).toThrow(
      "output 'y' of model 'm' has shape [2,1], expected 1 row in the first dimension",
    );
  });

  it('fails as the function does when there is one group', async () => {
    const inputs = { x: x(1, 2), k: columnOf('int32', [2, 2]) };
    const error = new Error('out of memory');
    const thrower = () => {
      throw error;
    };
    expect(() => run(thrower, [inputs])).toThrow(error);
    await expect(run(async () => Promise.reject(error), [inputs])).rejects.toBe(error);
  });

  describe('with outputs of different shapes', () => {
    const inputs = { x: x(1, 2, 3), k: columnOf('int32', [1, 2, 3]) };
    const widening: AnyTensorFunc = ({ k }) => ({ y: [Array.from({ length: k!.data[0] as number }, () => 7)] });

    it('refuses them without a padFn', () => {
      expect(() => run(widening, [inputs])).toThrow(
        "groupByValues: output 'y' of model 'm' has rows of shape [1] and [2]; give a padFn, constantPadder(0) for example",
      );
    });

    it('makes them equal with constantPadder', () => {
      expect(run(widening, [inputs], { padFn: constantPadder(-1) })).toEqual([
        { y: Tensor.from('float32', [[7, -1, -1], [7, 7, -1], [7, 7, 7]]) }, // prettier-ignore
      ]);
    });

    it('takes a function of the user', () => {
      const cut = run(widening, [inputs], {
        padFn: (groups) =>
          groups.map(({ y }) => ({ y: new Tensor('float32', (y!.data as Float32Array).slice(0, 1), [1, 1]) })),
      });
      expect(cut).toEqual([{ y: x(7, 7, 7) }]);
    });

    it.each<[string, GroupByValuesOptions['padFn'], string]>([
      ['leaves them different', (groups) => groups, "has rows of shape [1] and [2]; padFn did not make them equal"],
      ['drops a group', (groups) => groups.slice(1), 'padFn must return a list of 3 records of outputs, one per group, got 2 records'],
      ['returns nothing', (() => undefined) as never, 'padFn must return a list of 3 records of outputs, one per group, got undefined'],
      ['changes the rows', (groups) => groups.map(() => ({ y: x(1, 2) })), "output 'y' of model 'm' has shape [2,1], expected 1 row"],
    ])('refuses a padFn that %s', (_, padFn, message) => {
      expect(() => run(widening, [inputs], { padFn: padFn! })).toThrow(message);
    }); // prettier-ignore
  });

  it('never cuts strings, whichever group came first', () => {
    const spec: Partial<ModelSpec> = { outputs: { text: { dtype: 'string', shape: [1] } } };
    const texts: AnyTensorFunc = ({ k }) => ({ text: [['x'.repeat(k!.data[0] as number)]] });
    expect(run(texts, [{ x: x(1, 2, 3), k: columnOf('int32', [2, 3, 1]) }], { spec })).toEqual([
      { text: Tensor.from('string', [['xx'], ['xxx'], ['x']]) },
    ]);
  });

  it('joins strings of one group with bytes of another', () => {
    const spec: Partial<ModelSpec> = { outputs: { text: { dtype: 'string', shape: [1] } } };
    const texts: AnyTensorFunc = ({ k }) => ({
      text: k!.data[0] === 1 ? columnOf('string', ['é']) : columnOf('bytes', [Uint8Array.of(255)]),
    });
    expect(run(texts, [{ x: x(1, 2), k: columnOf('int32', [1, 2]) }], { spec })).toEqual([
      { text: columnOf('bytes', [Uint8Array.of(0xc3, 0xa9), Uint8Array.of(255)]) },
    ]);
  });

  describe('in a decoupled model', () => {
    const spec: Partial<ModelSpec> = { config: { decoupled: true } };
    const inputs = { x: x(1, 2, 3), k: columnOf('int32', [5, 6, 5]) };

    it('makes one step of one step of every group', async () => {
      const counting = function* ({ x: rows }: Tensors) {
        yield { y: rows };
        yield { y: rows!.map((value) => 10 * (value as number)) };
      };
      const steps = [[{ y: x(1, 2, 3) }], [{ y: x(10, 20, 30) }]];
      expect(stepsOf(run(counting, [inputs], { spec }))).toEqual(steps);
      const slowly = async function* (given: Tensors) {
        await Promise.resolve();
        yield* counting(given);
      };
      expect(await allSteps(run(slowly, [inputs], { spec }))).toEqual(steps);
    });

    it('refuses groups that end at different steps', () => {
      const result = run(
        function* ({ x: rows, k }) {
          yield { y: rows };
          if (k!.data[0] === 5) yield { y: rows };
        },
        [inputs],
        { spec },
      );
      expect(() => stepsOf(result)).toThrow(
        "groupByValues: the groups of model 'm' yielded different numbers of steps, expected as many of each; use stream for requests that end on their own",
      );
    });

    it('takes what all groups return for the only step', async () => {
      const steps = [[{ y: x(1, 2, 3) }]];
      expect(stepsOf(run(({ x: rows }) => ({ y: rows }), [inputs], { spec }))).toEqual(steps);
      // Several groups that promise their outputs are steps that come in time.
      const promised = await run(async ({ x: rows }) => ({ y: rows }), [inputs], { spec });
      expect(stepsOf(promised)).toEqual(steps);
    });
  });
});
