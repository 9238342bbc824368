// How long to wait before a thread is started again: not at all the first time, then ever longer, so that one that cannot
// live does not keep the machine busy.

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;
/** A thread that lived this long starts with a clean record. */
const SOUND_LIFE = 10_000;

export class RestartPauses {
  #failures = 0;

  /** How often a thread has died or not started since a sound life. */
  get failures(): number {
    return this.#failures;
  }

  /** After a life of so many milliseconds; 0 for a thread that did not start. */
  next(lived: number): number {
    if (lived > SOUND_LIFE) this.#failures = 0;
    const pause = this.#failures === 0 ? 0 : Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (this.#failures - 1));
    this.#failures++;
    return pause;
  }
}
