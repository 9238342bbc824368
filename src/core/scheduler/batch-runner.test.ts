import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { fakeTime, ManualInstance, pass, SchedulerHarness } from '../../../test/support/scheduler-harness.js';
import { READING, standStill } from '../../../test/support/standstill.js';

const GRACE = 1000;

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A runner that waits for a callable whose client has left. */
function settling() {
  const instance = new ManualInstance();
  const harness = new SchedulerHarness({}, [instance]);
  const request = harness.send('a');
  pass();
  request.cancel();
  const state = { isSettled: false };
  void harness.scheduler.settled().then(() => (state.isSettled = true));
  return {
    instance,
    async isSettled() {
      for (let turns = 0; turns < 5; turns++) await Promise.resolve();
      return state.isSettled;
    },
  };
}

it('waits a second for a callable that nobody waits for, and no longer', async () => {
  const { isSettled } = settling();
  pass(GRACE - 1);
  expect(await isSettled()).toBe(false);
  pass(1 + READING);
  expect(await isSettled()).toBe(true);
});

it('waits no longer than until the callable has ended', async () => {
  const { instance, isSettled } = settling();
  instance.last.finish();
  expect([await isSettled(), vi.getTimerCount()]).toEqual([true, 0]);
});

it('counts no standstill of its own thread against the callable, but waits no third second', async () => {
  const { isSettled } = settling();
  standStill(60_000);
  pass(GRACE + READING);
  expect(await isSettled()).toBe(false);
  standStill(60_000);
  pass(GRACE + READING);
  expect(await isSettled()).toBe(true);
});
