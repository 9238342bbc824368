// For how long something that should move has not: a figure that is looked at now and then.

export class Standstill {
  #figure = NaN;
  #since = 0;

  /** Milliseconds for which `figure` has been the same, as far as looks tell; 0 when nothing has to move. */
  look(now: number, hasToMove: boolean, figure: number): number {
    if (!hasToMove) this.#figure = NaN;
    if (this.#figure !== figure || !hasToMove) {
      if (hasToMove) this.#figure = figure;
      this.#since = now;
      return 0;
    }
    return now - this.#since;
  }
}
