import { describe, expect, it } from 'vitest';

import {
  allSteps,
  callDecorated,
  requestOf,
  stepsOf,
  type AnyTensorFunc,
  type Tensors,
} from '../../test/support/decorated-call.js';
import type { InferenceContext, ModelSpec } from '../model/callable.js';
import type { ModelConfig } from '../model/model-config.js';
import { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';
import { groupByValues } from './group-by-values.js';
import { padBatch } from './pad-batch.js';

const x = (...values: number[]) => Tensor.from('float32', values.map((value) => [value])); // prettier-ignore

function run(fn: AnyTensorFunc, requests: readonly Tensors[], config: ModelConfig = {}, inputs?: ModelSpec['inputs']) {
  const spec: ModelSpec = {
    modelName: 'm',
    inputs: inputs ?? { x: { dtype: 'float32', shape: [1] }, s: { dtype: 'string', shape: [1], optional: true } },
    outputs: { y: { dtype: 'float32', shape: [1] }, n: { dtype: 'int32', shape: [1] } },
    config: { maxBatchSize: 8, ...config },
  };
  const callable = batch(padBatch(fn as never) as never);
  return callDecorated(callable, requests.map((tensors) => requestOf(tensors)), spec).result; // prettier-ignore
}

const PREFERRED = (...preferredBatchSize: number[]): ModelConfig => ({ batcher: { preferredBatchSize } });

/** The numbers of rows that a function gets for a batch of `rows`. */
function sizeFor(rows: number, config: ModelConfig): number {
  let size = 0;
  run(
    (inputs) => ((size = inputs['x']!.rowCount), {}),
    [{ x: x(...Array.from({ length: rows }, (_, i) => i)) }],
    config,
  );
  return size;
}

describe('padBatch', () => {
  it.each<[ModelConfig, Record<number, number>]>([
    [{}, { 1: 8, 3: 8, 8: 8 }],
    [PREFERRED(2, 4, 6), { 1: 2, 2: 2, 3: 4, 5: 6, 7: 8, 8: 8 }],
    [PREFERRED(6, 2, 4), { 1: 2, 3: 4, 7: 8 }],
    [PREFERRED(4), { 1: 4, 4: 4, 5: 8 }],
    [{ batcher: null }, { 3: 8 }],
  ])('with %j makes of so many rows %j', (config, sizes) => {
    for (const [rows, size] of Object.entries(sizes)) expect(sizeFor(Number(rows), config)).toBe(size);
  });

  it('adds rows without a sequence, whose state a step must not advance twice', () => {
    const spec: ModelSpec = {
      modelName: 'm',
      inputs: { x: { dtype: 'float32', shape: [1] } },
      outputs: { y: { dtype: 'float32', shape: [1] } },
      config: { maxBatchSize: 4, sequenceBatching: { iterative: true } },
    };
    const requests = [5, 6].map((id) => {
      const request = requestOf({ x: x(id) });
      request.sequence = { id, start: true, end: false };
      return request;
    });
    let seen: unknown;
    const grouped = groupByValues(['x'], (({ x }: Tensors, { sequences, sequence, reschedule }: InferenceContext) => {
      if (x!.data[0] === 6) {
        seen = [sequences.map((each) => each?.id), sequence?.id];
        reschedule(1);
      }
      return { y: x };
    }) as never);
    void callDecorated(batch(padBatch(grouped as never) as never), requests, spec).result;
    expect(seen).toEqual([[6, undefined, undefined], 6]);
    expect(requests.map(({ isRescheduled }) => isRescheduled)).toEqual([false, false]);
  });

  it('leaves batches alone that are larger than all sizes', () => {
    expect(sizeFor(9, PREFERRED(4))).toBe(9);
  });

  it('repeats the last row of every input, and takes its outputs off again', () => {
    let seen: unknown;
    const result = run(
      (inputs) => {
        seen = Object.values(inputs).map((tensor) => tensor.toNested());
        return { y: inputs['x']!.map((value) => 10 * (value as number)), n: inputs['x']!.rows().map((_, i) => [i]) };
      },
      [
        { x: x(1), s: Tensor.from('string', [['a']]) },
        { x: x(2, 3), s: Tensor.from('string', [['b'], ['c']]) },
      ],
      PREFERRED(4),
    );
    expect(seen).toEqual([[[1], [2], [3], [3]], [['a'], ['b'], ['c'], ['c']]]); // prettier-ignore
    expect(result).toEqual([
      { y: x(10), n: Tensor.from('int32', [[0]]) },
      { y: x(20, 30), n: Tensor.from('int32', [[1], [2]]) },
    ]);
  });

  it('hands batches through that have a preferred size', () => {
    const only = { x: x(1, 2) };
    let seen: Tensor | undefined;
    run((inputs) => ((seen = inputs['x']), {}), [only], PREFERRED(2));
    expect(seen).toBe(only.x);
  });

  it('takes lists, nested arrays and outputs left out', () => {
    expect(
      run(
        () => [
          [[1], [2], [3], [4]],
          [5, 6, 7, 8],
        ],
        [{ x: x(0) }],
        PREFERRED(4),
      ),
    ).toEqual([{ y: x(1), n: Tensor.from('int32', [[5]]) }]);
    expect(run((inputs) => ({ y: inputs['x'] }), [{ x: x(0) }])).toEqual([{ y: x(0) }]);
  });

  it('refuses outputs that do not have the rows of the padded batch', () => {
    expect(() => run(() => ({ y: [[1]] }), [{ x: x(0) }], PREFERRED(4))).toThrow(
      "output 'y' of model 'm' has shape [1,1], expected 4 rows in the first dimension",
    );
  });

  it('calls a model without inputs as it is', () => {
    expect(run(() => ({ y: [[1]] }), [{}], {}, {})).toEqual([{ y: x(1) }]);
  });

  it('works for asynchronous functions and generators', async () => {
    const echo: AnyTensorFunc = (inputs) => ({ y: inputs['x'] });
    const waiting: AnyTensorFunc = async (inputs, context) => Promise.resolve(echo(inputs, context));
    expect(await run(waiting, [{ x: x(1, 2, 3) }])).toEqual([{ y: x(1, 2, 3) }]);
    const decoupled: ModelConfig = { decoupled: true };
    const twice = function* (inputs: Tensors) {
      yield { y: inputs['x'] };
      yield { y: inputs['x']!.map((value) => -(value as number)) };
    };
    const steps = [[{ y: x(1, 2) }], [{ y: x(-1, -2) }]];
    expect(stepsOf(run(twice, [{ x: x(1, 2) }], decoupled))).toEqual(steps);
    const slowly = async function* (inputs: Tensors) {
      await Promise.resolve();
      yield* twice(inputs);
    };
    expect(await allSteps(run(slowly, [{ x: x(1, 2) }], decoupled))).toEqual(steps);
  });
});
