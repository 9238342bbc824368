// Why a loaded model may be UNAVAILABLE for a while: it serves again by itself.

/** The reason of a version whose instances have all died since it was loaded: they are being started again. */
export const INSTANCES_ENDED = 'all instances have ended';

/** The reason of a version whose instances live, but will not take a batch. */
export const INSTANCES_STALLED = 'all instances are busy with batches that took too long';

export function isInterruption(reason: string): boolean {
  return reason === INSTANCES_ENDED || reason === INSTANCES_STALLED;
}
