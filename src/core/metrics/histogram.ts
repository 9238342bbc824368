// Counts observations in buckets, as Prometheus histograms do. An observation is a search among the bounds and two
// additions; nothing is allocated.

export class Histogram {
  /** Upper bounds, ascending; a value that equals a bound belongs below it. Above the last there is one more bucket. */
  readonly bounds: readonly number[];
  readonly #bounds: Float64Array;
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#bounds = Float64Array.from(bounds);
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value <= bounds[middle]!) high = middle;
      else low = middle + 1;
    }
    this.#counts[low]!++;
    this.#sum += value;
  }

  /** Adds what was counted elsewhere: one number per bucket, the one above the last bound included. */
  add(counts: readonly number[], sum: number): void {
    for (let i = 0; i < this.#counts.length; i++) this.#counts[i]! += counts[i] ?? 0;
    this.#sum += sum;
  }

  get sum(): number {
    return this.#sum;
  }

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** Observations in each bucket alone. */
  get counts(): readonly number[] {
    return Array.from(this.#counts);
  }

  /** Observations up to each bound, all smaller ones included. */
  cumulative(): readonly number[] {
    let sum = 0;
    return this.bounds.map((_, index) => (sum += this.#counts[index]!));
  }
}
