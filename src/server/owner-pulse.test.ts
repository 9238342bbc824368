import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { OwnerPulse, watchPulse } from './owner-pulse.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Looks at beats that the test makes, from which a second passes until the first look. */
function watched() {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const told: boolean[] = [];
  watchPulse(beats, (isBlocked) => told.push(isBlocked));
  return { beats, told, look: (times: number) => void vi.advanceTimersByTime(1000 * times) };
}

describe('the pulse of a thread', () => {
  it('beats once a second and with each batch, until it is stopped', () => {
    const pulse = new OwnerPulse();
    vi.advanceTimersByTime(3000);
    pulse.beat();
    expect(pulse.beats[0]).toBe(4);
    pulse.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is missed after ten looks in a row, and noticed by the next', () => {
    const { beats, told, look } = watched();
    look(9);
    expect(told).toEqual([]);
    look(1);
    expect(told).toEqual([true]);
    look(100);
    expect(told).toEqual([true]);
    beats[0]!++;
    look(1);
    expect(told).toEqual([true, false]);
    look(10);
    expect(told).toEqual([true, false, true]);
  });

  it('is there where it is slow', () => {
    const { beats, told, look } = watched();
    for (let i = 0; i < 5; i++) {
      look(9);
      beats[0]!++;
    }
    look(1);
    expect(told).toEqual([]);
  });

  it('may wrap round', () => {
    const { beats, told, look } = watched();
    for (const beat of [2 ** 31 - 1, -(2 ** 31)]) {
      beats[0] = beat;
      look(9);
    }
    expect(told).toEqual([]);
  });
});
