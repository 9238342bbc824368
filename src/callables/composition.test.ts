// The decorators together, in the documented order.

import { describe, expect, it } from 'vitest';

import {
  allSteps,
  type AnyTensorFunc,
  callDecorated,
  requestOf,
  stepsOf,
  type Tensors,
} from '../../test/support/decorated-call.js';
import type { ModelSpec } from '../model/callable.js';
import { type RequestGroups, RequestStreams } from '../model/steps.js';
import { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';
import { constantPadder } from './constant-padder.js';
import { fillOptionals } from './fill-optionals.js';
import { firstValue } from './first-value.js';
import { groupByKeys } from './group-by-keys.js';
import { groupByValues } from './group-by-values.js';
import { padBatch } from './pad-batch.js';
import { stream } from './stream.js';

const SPEC: ModelSpec = {
  modelName: 'm',
  inputs: {
    x: { dtype: 'float32', shape: [1] },
    factor: { dtype: 'float32', shape: [1], optional: true },
    bias: { dtype: 'float32', shape: [1], optional: true },
  },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 8, batcher: { preferredBatchSize: [2, 4] } },
};

const x = (...values: number[]) => Tensor.from('float32', values.map((value) => [value])); // prettier-ignore

type Values = Readonly<Record<string, unknown>>;

/** fillOptionals → groupByKeys → batch → groupByValues → padBatch → firstValue, around `fn`. */
function decorated(fn: (values: Values) => unknown): unknown {
  const values = firstValue(['factor'] as never, fn as never);
  const tensors = groupByValues(['factor'] as never, padBatch(values), { padFn: constantPadder(0) });
  return fillOptionals({ factor: 2 } as never, groupByKeys(batch(tensors)) as never);
}

/** x times the factor, plus the bias where there is one; says how it was called. */
function recorded(calls: unknown[]): (values: Values) => unknown {
  return (values) => {
    const { x: rows, factor, bias } = values as { x: Tensor<'float32'>; factor: number; bias?: Tensor<'float32'> };
    calls.push([[...rows.data], factor, bias !== undefined]);
    return { y: rows.map((value, i) => value * factor + (bias?.data[i] ?? 0)) };
  };
}

const REQUESTS = [
  requestOf({ x: x(1, 2) }),
  requestOf({ x: x(3), factor: x(10) }),
  requestOf({ x: x(4), bias: x(100) }),
  requestOf({ x: x(5, 6, 7), factor: x(10, 2, 10) }),
];
const CALLS = [
  [[1, 2, 6, 6], 2, false],
  [[3, 5, 7, 7], 10, false],
  [[4, 4], 2, true],
];
const RESULTS = [[2, 4], [30], [108], [50, 12, 70]].map((values) => ({ y: x(...values) }));

describe('all decorators together', () => {
  it('compute each group on its own and give every request its rows', () => {
    const calls: unknown[] = [];
    const { result } = callDecorated(decorated(recorded(calls)), REQUESTS, SPEC);
    expect(calls).toEqual(CALLS);
    expect(result).toEqual(RESULTS);
  });

  it('do the same over an asynchronous function', async () => {
    const calls: unknown[] = [];
    const compute = recorded(calls);
    const { result } = callDecorated(
      decorated(async (values) => Promise.resolve(compute(values))),
      REQUESTS,
      SPEC,
    );
    expect(await result).toEqual(RESULTS);
    expect(calls).toEqual(CALLS);
  });

  it.each(['sync', 'async'])('do the same at every step of a generator (%s)', async (kind) => {
    const calls: unknown[] = [];
    const compute = recorded(calls);
    const generator = function* (values: Values) {
      yield compute(values);
      yield compute(values);
    };
    const asyncGenerator = async function* (values: Values) {
      await Promise.resolve();
      yield* generator(values);
    };
    const spec: ModelSpec = { ...SPEC, config: { ...SPEC.config, decoupled: true } };
    const { result } = callDecorated(decorated(kind === 'sync' ? generator : asyncGenerator), REQUESTS, spec);
    const { groups } = result as RequestGroups;
    expect(groups.map(({ members }) => members)).toEqual([[0, 1, 3], [2]]);
    const steps = await Promise.all(groups.map(({ start }) => allSteps(start())));
    expect(steps).toEqual(groups.map(({ members }) => [1, 2].map(() => members.map((place) => RESULTS[place]))));
    expect(calls).toEqual(expect.arrayContaining(CALLS));
  });
});

describe('decorators around stream', () => {
  it('fill the inputs of each request, whose stream is its own', () => {
    const spec: ModelSpec = { ...SPEC, config: { decoupled: true } };
    const counting: AnyTensorFunc = function* (inputs: Tensors) {
      for (let i = 0; i < (inputs['x']!.data[0] as number); i++) yield { y: inputs['factor'] };
    };
    const callable = fillOptionals({ factor: 2 } as never, groupByKeys(stream(counting as never)) as never);
    const { result } = callDecorated(callable, [requestOf({ x: x(1) }), requestOf({ x: x(2), factor: x(9) })], spec);
    expect(RequestStreams.is(result)).toBe(true);
    const { streams } = result as RequestStreams;
    expect(streams.map((start) => stepsOf(start()))).toEqual([[{ y: x(2) }], [{ y: x(9) }, { y: x(9) }]]);
  });

  it('group the rows of each request by value', () => {
    const spec: ModelSpec = { ...SPEC, config: { decoupled: true } };
    const calls: unknown[] = [];
    const compute = function* (values: Values) {
      yield recorded(calls)(values);
    };
    const callable = stream(groupByValues(['factor'] as never, firstValue(['factor'] as never, compute as never)));
    const { result } = callDecorated(callable, [requestOf({ x: x(1, 2, 3), factor: x(2, 3, 2) })], spec);
    expect(stepsOf((result as RequestStreams).streams[0]!())).toEqual([{ y: x(2, 6, 6) }]);
    expect(calls).toEqual([[[1, 3], 2, false], [[2], 3, false]]); // prettier-ignore
  });
});
