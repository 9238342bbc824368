import { describe, expect, it, vi } from 'vitest';

import { joinSignals } from './join-signals.js';

describe('joined signals', () => {
  it('abort with the first one that does', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const { signal } = joinSignals([first.signal, undefined, second.signal]);
    expect(signal!.aborted).toBe(false);
    second.abort();
    expect(signal!.aborted).toBe(true);
  });

  it('are aborted from the start when one of them is', () => {
    expect(joinSignals([new AbortController().signal, AbortSignal.abort()]).signal!.aborted).toBe(true);
  });

  it('leave no listener behind, once they are released', () => {
    const [{ signal }, { signal: other }] = [new AbortController(), new AbortController()];
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    joinSignals([signal, other]).release();
    joinSignals([signal, other]).release();
    expect(added).toHaveBeenCalledTimes(2);
    const listeners = added.mock.calls.map(([event, listener]) => [event, listener]);
    expect(removed.mock.calls).toEqual(listeners);
  });

  it('are the only one as it is, or none', () => {
    const { signal } = new AbortController();
    expect(joinSignals([undefined, signal]).signal).toBe(signal);
    expect(joinSignals([undefined]).signal).toBeUndefined();
  });
});
