// How a cost grows: from measurements at several sizes, whether it does so faster than the size itself.

export interface GrowthPoint {
  readonly size: number;
  /** In whatever unit, more than 0. */
  readonly cost: number;
}

export interface Growth {
  /** Cost at the largest size to that at the smallest. */
  readonly factor: number;
  /** The largest size to the smallest. */
  readonly sizeFactor: number;
  /** Of each step to the next size, e where the cost grows as the size to the power of e: 0 not at all, 1 in proportion, 2 as its square. */
  readonly exponents: readonly number[];
  readonly isWorseThanLinear: boolean;
}

/** What measured costs may miss by: a cost in proportion that is measured a third too high over a step of 8 has 1.14. */
const TOLERANCE = 0.2;

/** Sizes must ascend. */
export function growthOf(points: readonly GrowthPoint[]): Growth {
  const first = points[0]!;
  const last = points.at(-1)!;
  const exponents = points.slice(1).map(({ size, cost }, i) => {
    const before = points[i]!;
    return Math.log(cost / before.cost) / Math.log(size / before.size);
  });
  return {
    factor: last.cost / first.cost,
    sizeFactor: last.size / first.size,
    exponents,
    isWorseThanLinear: exponents.some((exponent) => exponent > 1 + TOLERANCE),
  };
}
