import { afterEach, describe, expect, it, vi } from 'vitest';

import { epochNow } from './epoch-clock.js';

describe('the clock of spans', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('is the wall clock, with fractions of a millisecond', () => {
    const before = Date.now();
    const moments = Array.from({ length: 20 }, () => epochNow());
    const after = Date.now();
    // The two clocks of the machine may differ by a millisecond, and one of them has lost its fraction.
    expect(moments[0]).toBeGreaterThan(before - 2);
    expect(moments.at(-1)).toBeLessThan(after + 3);
    expect(moments.toSorted((a, b) => a - b)).toEqual(moments);
  });

  it('takes the fractions of the monotonic clock while the two agree', () => {
    const precise = performance.timeOrigin + 250.25;
    vi.spyOn(performance, 'now').mockReturnValue(250.25);
    vi.spyOn(Date, 'now').mockReturnValue(Math.floor(precise));
    expect(epochNow()).toBe(precise);
  });

  it.each([-60_000, 60_000])('follows the wall clock when it was set by %d ms', (by) => {
    const wall = Date.now() + by;
    vi.spyOn(Date, 'now').mockReturnValue(wall);
    expect(epochNow()).toBe(wall);
  });
});
