// What `run.ts` and a suite agree on.

import type { Comparison } from './comparison.js';
import type { Goal } from './goals.js';
import type { Timing } from './interleaved.js';
import type { Pinning } from './machine.js';

export interface SuiteOptions {
  readonly timing: Timing;
  readonly connections: readonly number[];
  /** Names of the suite's rows; undefined for all. */
  readonly only: readonly string[] | undefined;
  /** Names of the suite's servers; undefined for its usual ones. */
  readonly servers: readonly string[] | undefined;
  readonly pinning: Pinning;
  /** To see that everything works: the figures need not mean anything. */
  readonly isQuick: boolean;
  readonly print: (text: string) => void;
}

export interface SuiteResult {
  readonly comparisons: readonly Comparison[];
  readonly errors: number;
  /** Which of the project's goals were measured, with their figures. */
  readonly goals: readonly Goal[];
  /** Further figures, kept with the samples. */
  readonly figures?: unknown;
}

export type Suite = (options: SuiteOptions) => Promise<SuiteResult>;
