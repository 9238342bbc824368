// The few statistics that the benchmarks need. Percentiles are nearest-rank, so that each is a value that was measured.

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The smallest value that at least `share` (0…1) of the values do not exceed. `sorted` must be in ascending order. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  if (!(share >= 0 && share <= 1)) throw new RangeError(`a percentile's share must lie in 0…1, got ${share}`);
  if (sorted.length === 0) return NaN;
  // The small subtraction undoes products such as 0.07 * 100 = 7.000000000000001.
  const rank = Math.ceil(share * sorted.length - 1e-9);
  return sorted[Math.max(rank, 1) - 1]!;
}

/** The middle value; of an even count, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Ratios of paired samples: round by round, so that drift of the machine, which hits both of a pair, cancels. */
export function pairedRatios(values: readonly number[], reference: readonly number[]): readonly number[] {
  if (values.length !== reference.length) {
    throw new RangeError(`paired samples must be equally many, got ${values.length} and ${reference.length}`);
  }
  return values.map((value, i) => value / reference[i]!);
}
