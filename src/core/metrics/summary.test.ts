import { describe, expect, it } from 'vitest';

import { Summary } from './summary.js';

const TARGETS = [
  { quantile: 0.5, error: 0.05 },
  { quantile: 0.99, error: 0.001 },
];

describe('a summary', () => {
  it('has no quantiles before anything was observed', () => {
    const summary = new Summary(TARGETS, 0);
    expect([summary.count, summary.sum, summary.quantiles(0)]).toEqual([0, 0, [NaN, NaN]]);
  });

  it('answers the quantiles of what was observed, buffers that are not full included', () => {
    const summary = new Summary(TARGETS, 0);
    for (let value = 1; value <= 1001; value++) summary.observe(value, value);
    const [median, high] = summary.quantiles(2000);
    expect(Math.abs(median! - 501)).toBeLessThanOrEqual(50);
    expect(Math.abs(high! - 991)).toBeLessThanOrEqual(2);
    expect([summary.count, summary.sum]).toEqual([1001, 501_501]);
  });

  it('forgets a value after a minute, give or take the twelve seconds of a turn, but never its count and sum', () => {
    const summary = new Summary(TARGETS, 0);
    summary.observe(7, 1000);
    expect(summary.quantiles(47_999)).toEqual([7, 7]);
    expect(summary.quantiles(61_001)).toEqual([NaN, NaN]);
    expect([summary.count, summary.sum]).toEqual([1, 7]);
  });

  it('keeps a value for 48 seconds at least, and longer when it came just after a turn', () => {
    const early = new Summary(TARGETS, 0);
    early.observe(7, 12_001);
    expect(early.quantiles(71_999)).toEqual([7, 7]);
    expect(early.quantiles(72_001)).toEqual([NaN, NaN]);
    const late = new Summary(TARGETS, 0);
    late.observe(7, 11_999);
    expect(late.quantiles(59_999)).toEqual([7, 7]);
    expect(late.quantiles(60_001)).toEqual([NaN, NaN]);
  });

  it('keeps what came since when older values go', () => {
    const summary = new Summary(TARGETS, 0);
    for (let second = 0; second < 90; second++) summary.observe(second < 45 ? 1 : 100, second * 1000);
    expect(summary.quantiles(90_000)[0]).toBe(100);
    expect(summary.quantiles(110_000)[0]).toBe(100);
    expect(summary.quantiles(150_001)).toEqual([NaN, NaN]);
  });

  it('starts afresh after a long silence', () => {
    const summary = new Summary(TARGETS, 0);
    summary.observe(1, 0);
    summary.observe(2, 86_400_000);
    expect(summary.quantiles(86_400_001)).toEqual([2, 2]);
  });
});
