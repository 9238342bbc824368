// How often something happened and how long it took altogether: the protocol's StatisticDuration.

import type { StatisticDuration } from '../model/model-statistics.js';

/** Adds up milliseconds, reports nanoseconds. */
export class Duration implements StatisticDuration {
  count = 0;
  #ms = 0;

  get ns(): number {
    return Math.round(this.#ms * 1e6);
  }

  add(ms: number): void {
    this.count++;
    this.#ms += ms;
  }
}
