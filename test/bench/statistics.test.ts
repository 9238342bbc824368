import { describe, expect, it } from 'vitest';

import { median, pairedRatios, percentile, spread } from '../../bench/statistics.js';

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1);

  it.each([
    [0, 1],
    [0.07, 7],
    [0.5, 50],
    [0.501, 51],
    [0.99, 99],
    [0.999, 100],
    [1, 100],
  ])('takes the nearest rank: share %d of 1…100 is %d', (share, expected) => {
    expect(percentile(hundred, share)).toBe(expected);
  });

  it('is always a value that was measured', () => {
    expect(percentile(Float64Array.of(3, 10), 0.5)).toBe(3);
    expect(percentile([7], 0.99)).toBe(7);
  });

  it('has no answer for no values, and refuses a share given in percent', () => {
    expect(percentile([], 0.5)).toBeNaN();
    expect(() => percentile([1, 2], 99)).toThrow('0…1, got 99');
  });
});

describe('median', () => {
  it('is the middle of the sorted values and leaves its argument as it was', () => {
    const values = [30, 4, 100];
    expect(median(values)).toBe(30);
    expect(values).toEqual([30, 4, 100]);
  });

  it('is the mean of the two middle values of an even count', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('has no answer for no values', () => {
    expect(median([])).toBeNaN();
  });
});

describe('paired ratios', () => {
  it('compare round with round, so that a slow round of both changes nothing', () => {
    expect(pairedRatios([200, 20, 210], [100, 10, 100])).toEqual([2, 2, 2.1]);
    expect(spread([2, 2, 2.1])).toEqual({ median: 2, min: 2, max: 2.1 });
  });

  it('refuse unequal numbers of rounds', () => {
    expect(() => pairedRatios([1, 2], [1])).toThrow('got 2 and 1');
  });
});
