// Splits long work on a request into short pieces, between which the thread serves others. Such work is a generator
// that yields wherever it may pause, after as much work as a Pace allows. `finishPaced` runs it at once, and
// `paced-workers.ts` runs it among others. The work on a small request never yields, so it is done at once.

/** Work that yields where it may pause, and returns its result. */
export type PacedWork<T> = Generator<undefined, T, undefined>;

/**
 * Work between two pauses, in bytes read. It takes a fraction of a millisecond, or a few milliseconds on an engine that
 * has not compiled the code yet.
 */
export const PAUSE_BYTES = 64 * 1024;

/** Counts work, and says when it is time to pause. */
export class Pace {
  #left: number = PAUSE_BYTES;

  /** Counts this work. Returns true when it is time to pause. */
  spend(bytes: number): boolean {
    this.#left -= bytes;
    if (this.#left > 0) return false;
    this.#left = PAUSE_BYTES;
    return true;
  }
}

/** Does the work without a pause. */
export function finishPaced<T>(work: PacedWork<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
