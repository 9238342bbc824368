import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { READING, standStill } from '../../test/support/standstill.js';
import { ServedTimer } from './served-timer.js';

let calls: number;
beforeEach(() => {
  calls = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const count = () => void calls++;

it('calls back once, when the time is over', () => {
  void new ServedTimer(count, 5000);
  vi.advanceTimersByTime(4999);
  expect(calls).toBe(0);
  vi.advanceTimersByTime(10_001);
  expect(calls).toBe(1);
});

it('begins anew after a standstill', () => {
  void new ServedTimer(count, 5000);
  vi.advanceTimersByTime(3000);
  standStill(60_000);
  vi.advanceTimersByTime(2000 + 4999);
  expect(calls).toBe(0);
  vi.advanceTimersByTime(1 + READING);
  expect(calls).toBe(1);
});

it('begins anew as often as it may, and no more', () => {
  void new ServedTimer(count, 5000, { renewals: 1 });
  standStill(60_000);
  vi.advanceTimersByTime(5000 + READING);
  expect(calls).toBe(0);
  standStill(60_000);
  vi.advanceTimersByTime(5000 + READING);
  expect(calls).toBe(1);
});

it('counts a small delay', () => {
  void new ServedTimer(count, 5000);
  standStill(900);
  vi.advanceTimersByTime(5000 + READING);
  expect(calls).toBe(1);
});

it('lets what has come by then clear it', () => {
  const timer = new ServedTimer(count, 5000);
  // The bytes are read after the timers.
  setTimeout(() => setImmediate(() => timer.clear()), 5000);
  vi.advanceTimersByTime(10_000);
  expect(calls).toBe(0);
});
