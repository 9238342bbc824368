// Work on a request that may take long, done in short pieces between which the thread serves others. Whoever writes such
// work makes it a generator that yields wherever it may pause, after so much work as a Pace allows; whoever needs its
// result runs it, at once here or among others by `paced-workers.ts`. A small request never yields, so that it is done at once.

/** Work that yields where it may pause, and returns its result. */
export type PacedWork<T> = Generator<undefined, T, undefined>;

/**
 * Work between two pauses, in bytes that are looked at: a fraction of a millisecond, and a few of them on an engine that has
 * not compiled the code yet.
 */
export const PAUSE_BYTES = 64 * 1024;

/** Counts work, and says when it is time to pause. */
export class Pace {
  #left: number = PAUSE_BYTES;

  /** So much has been done. True: pause. */
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
