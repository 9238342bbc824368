// How long to wait before a thread is started again. The first restart comes at once, and each later one waits longer. So
// a thread that cannot live does not keep the machine busy.

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;
/** A thread that lived this long starts with a clean record. */
const SOUND_LIFE = 10_000;

export class RestartPauses {
  #failures = 0;

  /** How often a thread has died or failed to start since it last lived long enough. */
  get failures(): number {
    return this.#failures;
  }

  /** Returns the pause for a thread that lived this many milliseconds; 0 means that it did not start. */
  next(lived: number): number {
    if (lived > SOUND_LIFE) this.#failures = 0;
    const pause = this.#failures === 0 ? 0 : Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (this.#failures - 1));
    this.#failures++;
    return pause;
  }
}
