import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { READING, standStill } from '../../test/support/standstill.js';
import { INTERRUPTION_GRACE, loadInterrupted, unlessInterrupted } from './interrupted-load.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A setup that is told to end, and what became of the wait for it. */
function interrupted() {
  const interruption = new AbortController();
  const state = { outcome: 'waits', end: (): void => undefined };
  const setup = new Promise<void>((resolve) => (state.end = resolve));
  unlessInterrupted(setup, interruption.signal, INTERRUPTION_GRACE).then(
    () => (state.outcome = 'ended'),
    () => (state.outcome = 'given up'),
  );
  interruption.abort(loadInterrupted());
  return state;
}

it('gives a setup a short time after its signal', async () => {
  const state = interrupted();
  await vi.advanceTimersByTimeAsync(INTERRUPTION_GRACE - 1);
  expect(state.outcome).toBe('waits');
  await vi.advanceTimersByTimeAsync(1 + READING);
  expect([state.outcome, vi.getTimerCount()]).toEqual(['given up', 0]);
});

it('counts no standstill of its thread against a setup, but waits no third time', async () => {
  const [heeds, goesOn] = [interrupted(), interrupted()];
  standStill(60_000);
  await vi.advanceTimersByTimeAsync(INTERRUPTION_GRACE + READING);
  heeds.end();
  await vi.advanceTimersByTimeAsync(0);
  expect([heeds.outcome, goesOn.outcome]).toEqual(['ended', 'waits']);
  standStill(60_000);
  await vi.advanceTimersByTimeAsync(INTERRUPTION_GRACE + READING);
  expect([goesOn.outcome, vi.getTimerCount()]).toEqual(['given up', 0]);
});
