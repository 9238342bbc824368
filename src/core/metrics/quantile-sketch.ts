// Quantiles of a stream in little memory: the targeted quantiles of Cormode, Korn, Muthukrishnan and Srivastava
// ("Effective computation of biased quantiles over data streams", 2005), which prometheus-cpp and so Triton's summaries
// rest on. A quantile q with error e is answered by a value whose rank is within e·n of q·n.

/** A quantile to answer and how far the rank of the answer may be off, both as parts of 1. */
export interface TargetQuantile {
  readonly quantile: number;
  readonly error: number;
}

/** What stands for `weight` values up to `value`, whose highest rank is uncertain by `spread`. */
interface Sample {
  readonly value: number;
  weight: number;
  readonly spread: number;
}

export class QuantileSketch {
  readonly #targets: readonly TargetQuantile[];
  /** Ascending by value. */
  #samples: Sample[] = [];
  #count = 0;

  constructor(targets: readonly TargetQuantile[]) {
    this.#targets = targets;
  }

  /** Adds values that are in ascending order. */
  insert(values: Float64Array): void {
    const merged: Sample[] = [];
    const old = this.#samples;
    let rank = 0;
    let at = 0;
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      while (at < old.length && old[at]!.value <= value) {
        rank += old[at]!.weight;
        merged.push(old[at++]!);
      }
      // The least and the greatest value are known exactly.
      const inside = merged.length > 0 && at < old.length;
      merged.push({ value, weight: 1, spread: inside ? Math.max(0, Math.floor(this.#slack(rank)) - 1) : 0 });
      rank++;
      this.#count++;
    }
    while (at < old.length) merged.push(old[at++]!);
    this.#samples = this.#compress(merged);
  }

  /** NaN when there are no values. */
  query(quantile: number): number {
    const samples = this.#samples;
    if (samples.length === 0) return NaN;
    const wanted = Math.ceil(quantile * this.#count);
    const limit = wanted + this.#slack(wanted) / 2;
    let rank = 0;
    for (let i = 0; i < samples.length; i++) {
      const { weight, spread } = samples[i]!;
      if (i > 0 && rank + weight + spread > limit) return samples[i - 1]!.value;
      rank += weight;
    }
    return samples.at(-1)!.value;
  }

  reset(): void {
    this.#samples = [];
    this.#count = 0;
  }

  /** By how much the rank of a sample there may be uncertain without any target missing its error. */
  #slack(rank: number): number {
    let least = Infinity;
    for (let i = 0; i < this.#targets.length; i++) {
      const { quantile, error } = this.#targets[i]!;
      const slack =
        rank <= quantile * this.#count
          ? (2 * error * (this.#count - rank)) / (1 - quantile)
          : (2 * error * rank) / quantile;
      if (slack < least) least = slack;
    }
    return least;
  }

  /** Joins neighbours, from the greatest down, as far as the targets allow. */
  #compress(samples: readonly Sample[]): Sample[] {
    const kept: Sample[] = [];
    let rank = this.#count;
    for (let i = samples.length - 1; i >= 0; i--) {
      const sample = samples[i]!;
      rank -= sample.weight;
      const next = kept.at(-1);
      const joins =
        next !== undefined && i > 0 && kept.length > 1 && sample.weight + next.weight + next.spread <= this.#slack(rank);
      if (joins) next.weight += sample.weight;
      else kept.push(sample);
    }
    return kept.reverse();
  }
}
