import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Histogram } from './histogram.js';

describe('a histogram', () => {
  it.each<[number, number[]]>([
    [-1, [1, 0, 0, 0]],
    [0.5, [1, 0, 0, 0]],
    [1, [1, 0, 0, 0]],
    [1.0001, [0, 1, 0, 0]],
    [2, [0, 1, 0, 0]],
    [5, [0, 0, 1, 0]],
    [5.1, [0, 0, 0, 1]],
    [Infinity, [0, 0, 0, 1]],
  ])('counts %d in its bucket, a bound in the bucket below it', (value, counts) => {
    const histogram = new Histogram([1, 2, 5]);
    histogram.observe(value);
    expect(histogram.counts).toEqual(counts);
  });

  it('finds the bucket of any value, whatever the bounds', () => {
    const bounds = fc.uniqueArray(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(bounds, fc.double({ noNaN: true }), fc.nat(), (list, other, pick) => {
        const sorted = list.map((bound) => bound + 0).sort((a, b) => a - b);
        // A bound itself every other time: that is where one can be off.
        const value = pick % 2 === 0 ? other : sorted[pick % sorted.length]!;
        const histogram = new Histogram(sorted);
        histogram.observe(value);
        const expected = sorted.findIndex((bound) => value <= bound);
        expect(histogram.counts.indexOf(1)).toBe(expected < 0 ? sorted.length : expected);
      }),
      { numRuns: 500 },
    );
  });

  it('tells sum, count and the observations up to each bound', () => {
    const histogram = new Histogram([1, 2, 5]);
    for (const value of [0.5, 1.5, 2, 4, 7]) histogram.observe(value);
    expect([histogram.count, histogram.sum, histogram.cumulative()]).toEqual([5, 15, [1, 3, 4]]);
  });

  it('adds what was counted elsewhere', () => {
    const histogram = new Histogram([1, 2]);
    histogram.observe(3);
    histogram.add([1, 2, 4], 20);
    expect([histogram.counts, histogram.count, histogram.sum]).toEqual([[1, 2, 5], 8, 23]);
  });
});
