// The flags of `tstriton bench`.

import type { AccessFlags } from '../server-access.js';

export interface BenchFlags extends AccessFlags {
  readonly concurrency: number;
  readonly duration: number;
  readonly requests?: number;
  readonly warmup: number;
  readonly rows: number;
  readonly sequences?: number;
  readonly sequenceLength: number;
  readonly input?: readonly string[];
  readonly modelVersion?: number;
  readonly json?: boolean;
  readonly binary: boolean;
}
