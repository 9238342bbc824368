import { afterEach, expect, it, vi } from 'vitest';

import { ServedTime } from './served-time.js';

afterEach(() => {
  vi.useRealTimers();
});

it('goes as any clock does, except while nobody looks for long', () => {
  vi.useFakeTimers({ toFake: ['performance'], now: 0 });
  const begin = performance.now();
  const time = new ServedTime(1000);
  const after = (milliseconds: number) => {
    vi.advanceTimersByTime(milliseconds);
    return time.look() - begin;
  };
  expect([after(0), after(500), after(999), after(600_000), after(500)]).toEqual([0, 500, 1499, 2499, 2999]);
});
