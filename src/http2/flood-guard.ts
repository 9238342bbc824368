// Tells a busy peer from one that only makes work (CVE-2019-9512 to 9518, CVE-2023-44487, CVE-2024-27316). Frames that carry
// nothing cost credit: pings, settings, priorities, empty data, resets, tiny window updates, frames on closed streams. Frames that
// carry something earn it, and so does time. Who has none left is asked to calm down.

export interface FloodLimits {
  /** Credit that a connection begins with, and never has more of. */
  readonly floodCredit: number;
  /** Credit that returns in a second. */
  readonly floodCreditPerSecond: number;
}

export class FloodGuard {
  readonly #most: number;
  readonly #perMillisecond: number;
  #credit: number;
  #refilledAt: number | undefined;

  constructor({ floodCredit, floodCreditPerSecond }: FloodLimits) {
    this.#most = floodCredit;
    this.#perMillisecond = floodCreditPerSecond / 1000;
    this.#credit = floodCredit;
  }

  /** False when the credit is used up. */
  spend(cost: number): boolean {
    this.#credit -= cost;
    return this.#credit >= 0;
  }

  earn(credit: number): void {
    this.#credit = Math.min(this.#most, this.#credit + credit);
  }

  /** `now` in milliseconds of any clock. */
  refill(now: number): void {
    if (this.#refilledAt !== undefined) this.earn((now - this.#refilledAt) * this.#perMillisecond);
    this.#refilledAt = now;
  }
}
