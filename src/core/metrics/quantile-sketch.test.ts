import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { QuantileSketch } from './quantile-sketch.js';

const TARGETS = [
  { quantile: 0.5, error: 0.05 },
  { quantile: 0.9, error: 0.01 },
  { quantile: 0.99, error: 0.001 },
];

function insertAll(sketch: QuantileSketch, values: readonly number[], batch: number): void {
  for (let i = 0; i < values.length; i += batch) sketch.insert(Float64Array.from(values.slice(i, i + batch)).sort());
}

/** By how much the rank of an answer misses the wanted one, as a part of all values; equal values have a range of ranks. */
function rankError(values: readonly number[], quantile: number, answer: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const lowest = sorted.findIndex((value) => value >= answer) + 1;
  const highest = sorted.findLastIndex((value) => value <= answer) + 1;
  const wanted = Math.ceil(quantile * values.length);
  return Math.max(0, lowest - wanted, wanted - highest) / values.length;
}

/** Deterministic numbers in 0 … 1. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    yield state / 2 ** 32;
  }
}

function take(count: number, value: (random: number, index: number) => number): number[] {
  const random = numbers(7);
  return Array.from({ length: count }, (_, index) => value(random.next().value, index));
}

describe('a quantile sketch', () => {
  it('has no answer without values', () => {
    expect(new QuantileSketch(TARGETS).query(0.5)).toBeNaN();
  });

  it('is exact as long as it holds few values', () => {
    const sketch = new QuantileSketch(TARGETS);
    insertAll(sketch, [5, 1, 4, 2, 3], 2);
    expect([0.5, 0.9, 0.99].map((quantile) => sketch.query(quantile))).toEqual([3, 5, 5]);
  });

  it.each<[string, readonly number[]]>([
    ['uniform', take(50_000, (random) => random)],
    ['skewed', take(50_000, (random) => -Math.log(1 - random))],
    ['ascending', take(50_000, (_, index) => index)],
    ['descending', take(50_000, (_, index) => -index)],
    ['few and equal', take(50_000, (random) => Math.floor(random * 4))],
  ])('keeps to the error of each target with %s values, in little memory', (_, values) => {
    const sketch = new QuantileSketch(TARGETS);
    insertAll(sketch, values, 500);
    for (const { quantile, error } of TARGETS) {
      expect(rankError(values, quantile, sketch.query(quantile)), `quantile ${quantile}`).toBeLessThanOrEqual(error);
    }
    expect(sketch.size).toBeLessThan(2000);
  });

  it('keeps to the error whatever comes, in batches of whatever size', () => {
    const values = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 3000 });
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 700 }), (list, batch) => {
        const sketch = new QuantileSketch(TARGETS);
        insertAll(sketch, list, batch);
        for (const { quantile, error } of TARGETS) {
          // Of few values the nearest rank may be one off.
          expect(rankError(list, quantile, sketch.query(quantile))).toBeLessThanOrEqual(error + 1 / list.length);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('forgets everything when it is reset', () => {
    const sketch = new QuantileSketch(TARGETS);
    insertAll(sketch, [1, 2, 3], 3);
    sketch.reset();
    expect(sketch.query(0.5)).toBeNaN();
    insertAll(sketch, [9], 1);
    expect(sketch.query(0.5)).toBe(9);
  });
});
