// Runs a test that fuzzes whole connections, as long as somebody wants, each time in a process of its own.
import { spawn } from 'node:child_process';

import type { FuzzedTest } from './targets.js';

/** Where a run begins, and how long it is. */
export interface FuzzedTestRun {
  readonly seed: number;
  readonly runs: number;
}

/** Throws when the test fails. The error has the variables of the environment that repeat the run. */
export async function runFuzzedTest({ file, ...names }: FuzzedTest, { seed, runs }: FuzzedTestRun): Promise<void> {
  const env = { ...process.env, [names.runs]: String(runs), [names.seed]: String(seed) };
  const vitest = spawn('npx', ['vitest', 'run', file], { env, stdio: ['ignore', 'inherit', 'inherit'] });
  const code = await new Promise((resolve) => vitest.once('close', resolve));
  if (code !== 0) throw new Error(`${file} failed with ${names.runs}=${runs} ${names.seed}=${seed}`);
}
