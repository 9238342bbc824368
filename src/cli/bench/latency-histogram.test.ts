import { describe, expect, it } from 'vitest';

import { LatencyHistogram } from './latency-histogram.js';

function of(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.add(value);
  return histogram;
}

describe('a histogram of latencies', () => {
  it('has percentiles within a percent, whatever the sizes', () => {
    const values = Array.from({ length: 10_000 }, (_, index) => 0.01 * 1.0013 ** index);
    const histogram = of(values);
    for (const share of [0.01, 0.5, 0.9, 0.99, 0.999]) {
      const exact = values[Math.ceil(share * values.length) - 1]!;
      expect(Math.abs(histogram.percentile(share) / exact - 1)).toBeLessThan(0.011);
    }
    expect([histogram.percentile(0), histogram.percentile(1)]).toEqual([histogram.least, histogram.most]);
    expect(histogram.count).toBe(values.length);
  });

  it('has the exact mean, least and most', () => {
    expect(of([1, 2, 6])).toMatchObject({ mean: 3, least: 1, most: 6, count: 3 });
  });

  it('has each duration in one class', () => {
    for (const values of [[1], [1, 1.001], [1, 2, 4, 8, 16], Array.from({ length: 997 }, (_, i) => i + 0.5), [0, 5]]) {
      const classes = of(values).classes(12);
      expect(classes.reduce((sum, { count }) => sum + count, 0)).toBe(values.length);
      expect(classes.length).toBeLessThanOrEqual(12);
      expect(classes.slice(1).map(({ from }) => from)).toEqual(classes.slice(0, -1).map(({ to }) => to));
    }
    expect(of([]).classes(12)).toEqual([]);
  });
});
