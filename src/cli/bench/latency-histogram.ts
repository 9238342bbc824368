// Durations counted by their size: percentiles of any number of them, in memory that does not grow. Neighbouring classes are one
// percent apart, and so a percentile is at most that far off.

const STEP = Math.log(1.01);

export class LatencyHistogram {
  /** How many durations are in a class. */
  readonly #counts = new Map<number, number>();
  #count = 0;
  #sum = 0;
  #least = Infinity;
  #most = 0;

  add(milliseconds: number): void {
    const index = Math.round(Math.log(Math.max(milliseconds, 1e-6)) / STEP);
    this.#counts.set(index, (this.#counts.get(index) ?? 0) + 1);
    this.#count++;
    this.#sum += milliseconds;
    this.#least = Math.min(this.#least, milliseconds);
    this.#most = Math.max(this.#most, milliseconds);
  }

  get count(): number {
    return this.#count;
  }

  get mean(): number {
    return this.#sum / this.#count;
  }

  get least(): number {
    return this.#least;
  }

  get most(): number {
    return this.#most;
  }

  /** `share` is from 0 to 1. Returns the least duration that this share of the durations does not exceed. */
  percentile(share: number): number {
    const wanted = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    for (const [index, count] of this.#sorted()) {
      seen += count;
      if (seen >= wanted) return Math.min(Math.max(Math.exp(index * STEP), this.#least), this.#most);
    }
    return this.#most;
  }

  /** The durations in at most `count` classes. Each class is wider than the one before by the same factor. */
  classes(count: number): readonly { readonly from: number; readonly to: number; readonly count: number }[] {
    if (this.#count === 0) return [];
    const [low, high] = [Math.log(Math.max(this.#least, 1e-6)), Math.log(Math.max(this.#most, 1e-6))];
    const width = Math.max((high - low) / count, STEP);
    const size = Math.max(1, Math.min(count, Math.ceil((high - low) / width - 1e-9)));
    const counts = new Array<number>(size).fill(0);
    for (const [index, each] of this.#counts) {
      const at = Math.min(Math.max(Math.floor((index * STEP - low) / width), 0), size - 1);
      counts[at]! += each;
    }
    return counts.map((each, at) => ({
      from: Math.exp(low + at * width),
      to: Math.exp(low + (at + 1) * width),
      count: each,
    }));
  }

  #sorted(): readonly (readonly [number, number])[] {
    return [...this.#counts].sort(([a], [b]) => a - b);
  }
}
