// Ends a load early, because the server stops or a later change of the model counts instead. This module has the load's errors,
// and the times that others wait for it.

import { TritonError } from '../errors.js';
import { ServedTimer } from '../pacing/served-timer.js';

/** How long `setup` may go on after its signal, in milliseconds: enough to close its resources. */
export const INTERRUPTION_GRACE = 250;

/** How long a load may go on after a later change of the model, where that can wait, in milliseconds. */
const SUPERSEDED_GRACE = 5000;

export function loadInterrupted(): TritonError {
  return new TritonError('UNAVAILABLE', 'the server was stopped before the model was loaded');
}

export function loadSuperseded(): TritonError {
  return new TritonError('UNAVAILABLE', 'a later change of the model came before it was loaded');
}

/** Calls `end` when a load that a later change has superseded had its time to come to an end. To be cleared when the load is over. */
export function endLate(end: () => void): ServedTimer {
  return new ServedTimer(end, SUPERSEDED_GRACE, { renewals: 1 });
}

/**
 * Awaits `promise`. Rejects with the signal's reason when `promise` has not settled `grace` milliseconds after the
 * signal.
 */
export async function unlessInterrupted<T>(promise: Promise<T>, signal: AbortSignal, grace = 0): Promise<T> {
  let timer: ServedTimer | undefined;
  let onAbort: (() => void) | undefined;
  const interrupted = new Promise<never>((_, reject) => {
    const interrupt = () => reject(signal.reason as TritonError);
    onAbort = () => (timer = new ServedTimer(interrupt, grace, { keepsAlive: true, renewals: 1 }));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([promise, interrupted]);
  } finally {
    timer?.clear();
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
