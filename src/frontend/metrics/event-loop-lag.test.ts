import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { EventLoopLag, SAMPLING_MS } from './event-loop-lag.js';

describe('the lag of the event loop', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('is nothing while timers are on time', () => {
    const lag = new EventLoopLag();
    lag.start();
    vi.advanceTimersByTime(10 * SAMPLING_MS);
    lag.stop();
    expect([lag.histogram.count, lag.histogram.sum, lag.histogram.counts[0]]).toEqual([10, 0, 10]);
  });

  it('is how long a turn kept the loop, once', () => {
    const lag = new EventLoopLag();
    lag.start();
    vi.advanceTimersByTime(SAMPLING_MS);
    // The clock goes on, timers do not.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + SAMPLING_MS + 150);
    vi.advanceTimersToNextTimer();
    clock.mockRestore();
    lag.stop();
    const upTo = lag.histogram.cumulative();
    expect(lag.histogram.count).toBe(2);
    expect(lag.histogram.sum).toBeCloseTo(0.15, 9);
    expect([0.1, 0.2].map((bound) => upTo[lag.histogram.bounds.indexOf(bound)])).toEqual([1, 2]);
  });

  it('is measured from start to stop, both idempotent', () => {
    const lag = new EventLoopLag();
    vi.advanceTimersByTime(100);
    expect(lag.histogram.count).toBe(0);
    lag.start();
    lag.start();
    vi.advanceTimersByTime(SAMPLING_MS);
    lag.stop();
    lag.stop();
    vi.advanceTimersByTime(100);
    expect(lag.histogram.count).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
