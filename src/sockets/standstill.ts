// For how long something that should move has not: a figure that is looked at now and then.

/** A client that takes or brings fewer bytes stands still: a byte now and then must not hold room that others need. */
export const LEAST_PROGRESS = 16 * 1024;

export class Standstill {
  readonly #least: number;
  #figure = NaN;
  #since = 0;

  /** `least`: how far the figure must move. */
  constructor(least = 1) {
    this.#least = least;
  }

  /** Milliseconds for which `figure` has not moved, as far as looks tell; 0 when nothing has to move. */
  look(now: number, hasToMove: boolean, figure: number): number {
    const hasMoved = !(Math.abs(figure - this.#figure) < this.#least);
    if (!hasToMove) this.#figure = NaN;
    if (hasMoved || !hasToMove) {
      if (hasToMove) this.#figure = figure;
      this.#since = now;
      return 0;
    }
    return now - this.#since;
  }
}
