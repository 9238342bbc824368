import { describe, expect, it } from 'vitest';

import { AbortSource } from './abort-source.js';
import { followSignal } from './follow-signal.js';

/** Of either kind, with what aborts it. */
const KINDS = [
  {
    kind: 'AbortSignal',
    make: () => {
      const controller = new AbortController();
      const { signal } = controller;
      return {
        signal,
        follow: (callback: () => void) => followSignal(signal, callback),
        abort: () => controller.abort(),
      };
    },
  },
  {
    kind: 'AbortSource',
    make: () => {
      const source = new AbortSource();
      return { signal: source, follow: (callback: () => void) => source.follow(callback), abort: () => source.abort() };
    },
  },
];

describe.each(KINDS)('followers of an $kind', ({ make }) => {
  it('are each called once when it aborts, but for those who have left', () => {
    const { signal, follow, abort } = make();
    const called: number[] = [];
    const leave = [1, 2, 3].map((number) => follow(() => called.push(number)));
    leave[1]!();
    leave[1]!();
    expect([signal.aborted, called]).toEqual([false, []]);
    abort();
    abort();
    expect([signal.aborted, called]).toEqual([true, [1, 3]]);
    for (const each of leave) each();
  });

  it('may come when all others have left', () => {
    const { follow, abort } = make();
    follow(() => expect.unreachable())();
    let called = 0;
    follow(() => called++);
    abort();
    expect(called).toBe(1);
  });
});
