import { describe, expect, it, vi } from 'vitest';

import { withSignals } from './with-signals.js';

describe('withSignals', () => {
  it('aborts with the first signal that does', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    await withSignals([first.signal, undefined, second.signal], async (signal) => {
      expect(signal.aborted).toBe(false);
      second.abort();
      expect(signal.aborted).toBe(true);
    });
  });

  it('is aborted from the start when one of them is', async () => {
    const seen = await withSignals([new AbortController().signal, AbortSignal.abort()], async ({ aborted }) => aborted);
    expect(seen).toBe(true);
  });

  it('leaves no listener behind, whichever way the action ends', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    await withSignals([signal], async () => undefined);
    await expect(withSignals([signal], () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(added).toHaveBeenCalledTimes(2);
    expect(removed.mock.calls).toEqual(added.mock.calls);
  });
});
