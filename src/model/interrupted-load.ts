// A load that ends early because the server stops: what it fails with, and how long a stop waits for code that does not
// heed its signal.

import { TritonError } from '../errors.js';

/** How long `setup` may go on after its signal, in milliseconds: enough to close what it has opened. */
export const INTERRUPTION_GRACE = 250;

export function loadInterrupted(): TritonError {
  return new TritonError('UNAVAILABLE', 'the server was stopped before the model was loaded');
}

/** Awaits `promise`. Rejects with the signal's reason so many milliseconds after it fires, when `promise` has not settled by then. */
export async function unlessInterrupted<T>(promise: Promise<T>, signal: AbortSignal, grace = 0): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const interrupted = new Promise<never>((_, reject) => {
    const interrupt = () => reject(signal.reason as TritonError);
    onAbort = () => (timer = setTimeout(interrupt, grace));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([promise, interrupted]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
