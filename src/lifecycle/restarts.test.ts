import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { TritonError } from '../errors.js';
import { Restarts } from './restarts.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function restarted(start: () => Promise<void>) {
  const over = new AbortController();
  const lines: string[] = [];
  const onGivenUp = vi.fn<(error: TritonError) => void>();
  const logError = (line: string) => lines.push(line);
  const restarts = new Restarts({ called: 'it', signal: over.signal, start, logError, onGivenUp });
  return { restarts, over, lines, onGivenUp };
}

const death = new TritonError('UNAVAILABLE', 'it has died');

describe('what has died', () => {
  it('is started again until it lives', async () => {
    let starts = 0;
    const { restarts, lines, onGivenUp } = restarted(async () => {
      if (++starts < 3) throw new Error('not yet');
    });
    const restarting = restarts.after(death, 0);
    await vi.runAllTimersAsync();
    await restarting;
    expect(starts).toBe(3);
    expect(lines).toEqual(['it did not start again: not yet', 'it did not start again: not yet']);
    expect(onGivenUp).not.toHaveBeenCalled();
  });

  it('is given up after ten restarts in a row that failed', async () => {
    const start = vi.fn<() => Promise<void>>(() => Promise.reject(new Error('never')));
    const { restarts, lines, onGivenUp } = restarted(start);
    const restarting = restarts.after(death, 0);
    await vi.runAllTimersAsync();
    await restarting;
    expect(start).toHaveBeenCalledTimes(10);
    expect(lines.at(-1)).toBe('it is given up after 10 restarts in a row: never');
    expect(onGivenUp.mock.calls.map(([error]) => error.message)).toEqual([lines.at(-1)]);
  });

  it('is not started again once it is stopped, and its pause ends', async () => {
    const start = vi.fn<() => Promise<void>>(() => Promise.reject(new Error('not yet')));
    const { restarts, over } = restarted(start);
    const restarting = restarts.after(death, 0);
    await vi.advanceTimersByTimeAsync(50);
    over.abort();
    await restarting;
    expect([start.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
  });
});
