// The workload of the suite `iterative`: requests to a token model, of as mixed lengths as texts have.

export const MAX_ROWS = 32;
/** A step of a batch takes as long as a language model's on an accelerator: nearly the same for few rows and for many. */
export const STEP_MS = 16;
export const ROW_MS = 0.1;

const MEAN_TOKENS = 32;
const LENGTHS = 1024;

/** Tokens per second when each step has all rows, and the next begins as soon as one ends. */
export const IDEAL_TOKENS_PER_SECOND = (MAX_ROWS * 1000) / (STEP_MS + ROW_MS * MAX_ROWS);

/** The tokens of request `k`: an exponential distribution, each of whose quantiles comes as often as the others. */
export function tokensOf(k: number): number {
  // The factor is odd, so that no length comes twice before all have come.
  const quantile = (((k * 389) % LENGTHS) + 0.5) / LENGTHS;
  return Math.ceil(-MEAN_TOKENS * Math.log(1 - quantile));
}

/** Token `step` of request `k`, from 1 on: tokens of different requests differ. */
export function tokenOf(k: number, step: number): number {
  return (k % 100_000) * 1000 + step;
}
