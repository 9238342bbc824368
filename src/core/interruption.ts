// Why a loaded version of a model serves nobody for a while; it serves again by itself. The texts are what clients are told.

export const INTERRUPTIONS = {
  /** Its instances have all died since it was loaded, and are being started again. */
  ended: 'all instances have ended',
  /** Its instances live, but will not take a batch. */
  stalled: 'all instances are busy with batches that took too long',
} as const;

export type Interruption = keyof typeof INTERRUPTIONS;
