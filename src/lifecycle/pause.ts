import { followSignal } from './follow-signal.js';

/** Resolves after this time, and at once when the signal aborts. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      leave();
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    const leave = followSignal(signal, end);
  });
}
