// How long something has lasted, for who looks now and then: time counts from the first look that found it begun.

export class Stopwatch {
  #since: number | undefined;

  /** Milliseconds that it has lasted without a break, as far as was seen; 0 when it does not last. */
  look(now: number, lasts: boolean): number {
    if (!lasts) this.#since = undefined;
    else this.#since ??= now;
    return this.#since === undefined ? 0 : now - this.#since;
  }
}
