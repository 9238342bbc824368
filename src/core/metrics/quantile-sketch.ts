// Estimates quantiles of a stream in little memory. The method is the targeted quantiles of Cormode, Korn, Muthukrishnan
// and Srivastava ("Effective computation of biased quantiles over data streams", 2005). prometheus-cpp uses it too, and so
// Triton's summaries do. A quantile q with error e is answered by a value whose rank is within e·n of q·n.

/** A quantile to answer and how far the rank of the answer may be off, both as parts of 1. */
export interface TargetQuantile {
  readonly quantile: number;
  readonly error: number;
}

/** Represents `weight` values up to `value`. The highest rank of `value` is uncertain by `spread`. */
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

  /** Samples that are kept. */
  get size(): number {
    return this.#samples.length;
  }

  /** Adds values that are in ascending order. */
  insert(values: Float64Array): void {
    const merged: Sample[] = [];
    const old = this.#samples;
    let at = 0;
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      while (at < old.length && old[at]!.value <= value) merged.push(old[at++]!);
      // Its rank is as uncertain as that of the next sample; the least and the greatest value are known exactly.
      const next = merged.length > 0 ? old[at] : undefined;
      merged.push({ value, weight: 1, spread: next === undefined ? 0 : next.weight + next.spread - 1 });
    }
    this.#count += values.length;
    while (at < old.length) merged.push(old[at++]!);
    this.#samples = this.#compress(merged);
  }

  /** Returns the value at a quantile; NaN before the first value. */
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

  /** By how much the rank of a sample between two ranks may be uncertain without any target missing its error. */
  #slack(from: number, to = from): number {
    let least = Infinity;
    for (let i = 0; i < this.#targets.length; i++) {
      const { quantile, error } = this.#targets[i]!;
      // Least at the target's own rank, from where it grows on both sides.
      const own = quantile * this.#count;
      const rank = own < from ? from : own > to ? to : own;
      const slack = rank <= own ? (2 * error * (this.#count - rank)) / (1 - quantile) : (2 * error * rank) / quantile;
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
      // The least and the greatest value stay.
      const inside = next !== undefined && i > 0 && kept.length > 1;
      const joined = inside ? sample.weight + next.weight + next.spread : Infinity;
      if (inside && joined <= this.#slack(rank, rank + joined)) next.weight += sample.weight;
      else kept.push(sample);
    }
    return kept.reverse();
  }
}
