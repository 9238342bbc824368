import { TritonError } from '../errors.js';
import { pause } from './pause.js';

export interface Attempts {
  /** How long all attempts together may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Between two attempts, in milliseconds. */
  readonly pauseMs: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Gets the time that is left, and rejects with DEADLINE_EXCEEDED when that is over. */
  readonly attempt: (leftMs: number) => Promise<void>;
}

/** Waits for a server that is not there yet: repeats an attempt that fails with UNAVAILABLE. Rejects at once with other errors. */
export async function untilThere({ timeoutMs, pauseMs, signal, attempt }: Attempts): Promise<void> {
  const end = performance.now() + timeoutMs;
  let earlier: TritonError | undefined;
  for (;;) {
    try {
      return await attempt(end - performance.now());
    } catch (thrown) {
      const error = TritonError.from(thrown);
      // The last attempt had little time: what an earlier one has met says more.
      if (error.code === 'DEADLINE_EXCEEDED') throw earlier ?? error;
      if (error.code !== 'UNAVAILABLE' || signal.aborted) throw error;
      if (performance.now() + pauseMs >= end) throw error;
      earlier = error;
      await pause(pauseMs, signal);
    }
  }
}
