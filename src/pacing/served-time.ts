// The time by which clients are judged. While this thread stood still (a frozen container, a callable that computes in it), no client
// could show that it is there, so that of a standstill hardly anything counts.

export class ServedTime {
  readonly #most: number;
  #looked = performance.now();
  #now = this.#looked;

  /** `most`: what counts between two looks at most, in milliseconds. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Milliseconds of a clock of its own, which begins with that of `performance.now()` and may fall behind it. */
  look(): number {
    const looked = performance.now();
    this.#now += Math.min(looked - this.#looked, this.#most);
    this.#looked = looked;
    return this.#now;
  }
}
