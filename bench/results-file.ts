// Keeps what a run measured: every round of every server, beside the machine, its load and the options of the run.

import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

// Compiled, this module is build/bench/results-file.js.
const RESULTS = new URL('../../bench/results/', import.meta.url);

/** Returns the file's path relative to the package. */
export async function writeResults(suite: string, results: object): Promise<string> {
  const date = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const name = `${suite}-${date.replaceAll(':', '')}.json`;
  await mkdir(RESULTS, { recursive: true });
  await writeFile(fileURLToPath(new URL(name, RESULTS)), `${JSON.stringify({ suite, date, ...results }, null, 1)}\n`);
  return `bench/results/${name}`;
}
