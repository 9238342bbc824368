// Keeps what a run measured: every round of every server, beside the machine, its load and the options of the run. Quick runs
// are kept apart, for nobody is to quote them.

import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import type { Comparison } from './comparison.js';
import type { Goal } from './goals.js';
import type { Machine } from './machine.js';
import { withPeerFigures } from './page/peer-figures.js';
import type { SuiteOptions } from './suite.js';

// Compiled, this module is build/bench/results-file.js.
const PACKAGE = new URL('../../', import.meta.url);
const folderOf = (isQuick: boolean): string => (isQuick ? 'build/bench-quick/' : 'bench/results/');
const NAME = /^(.+)-\d{4}-\d\d-\d\dT\d{6}Z\.json$/;

/** What a results file has, beside the options of the run. */
export interface KeptRun {
  readonly suite: string;
  /** Of the run's end, ISO 8601. */
  readonly date: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly timing: SuiteOptions['timing'];
  readonly pinning: { readonly note: string };
  readonly only?: readonly string[] | undefined;
  readonly loadAverage: { readonly before: readonly number[]; readonly after: readonly number[] };
  /** How long the run took. */
  readonly seconds: number;
  readonly errors: number;
  /** What was printed. */
  readonly report: string;
  readonly goals: readonly Goal[];
  readonly comparisons: readonly Comparison[];
}

/** Returns the file's path relative to the package. */
export async function writeResults(suite: string, isQuick: boolean, results: object): Promise<string> {
  const date = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const path = `${folderOf(isQuick)}${suite}-${date.replaceAll(':', '')}.json`;
  await mkdir(new URL(folderOf(isQuick), PACKAGE), { recursive: true });
  await writeFile(new URL(path, PACKAGE), `${JSON.stringify({ suite, date, ...results }, null, 1)}\n`);
  return path;
}

/** The last run of each suite that has one, with the path of its file. */
export async function lastResults(isQuick: boolean): Promise<ReadonlyMap<string, { path: string; run: KeptRun }>> {
  const names = await readdir(new URL(folderOf(isQuick), PACKAGE)).catch(() => []);
  const last = new Map<string, { path: string; run: KeptRun }>();
  // The date in a name orders them.
  for (const name of names.sort((a, b) => (a < b ? -1 : 1))) {
    const suite = NAME.exec(name)?.[1];
    if (suite === undefined) continue;
    const path = `${folderOf(isQuick)}${name}`;
    const run = JSON.parse(await readFile(new URL(path, PACKAGE), 'utf8')) as KeptRun;
    // Those of former versions have no report.
    if (typeof run.report === 'string') last.set(suite, { path, run });
  }
  return last;
}

/** What the page has that no run tells. */
export function readExplained(): Promise<string> {
  return readFile(new URL('bench/page/explained.md', PACKAGE), 'utf8');
}

/** Writes the page and its pictures, and returns the page's path relative to the package. */
export async function writePage(isQuick: boolean, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = isQuick ? folderOf(true) : 'docs/';
  await mkdir(new URL(folder, PACKAGE), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(new URL(`${folder}${name}`, PACKAGE), text);
  const benchmarks = files['benchmarks.md'];
  if (!isQuick && benchmarks !== undefined) await refreshFigures(benchmarks);
  return `${folder}${Object.keys(files)[0]}`;
}

/** Pages with tables that `withPeerFigures` makes. */
export const PAGES_WITH_FIGURES = ['README.md', 'docs/comparison.md'];

export async function refreshFigures(benchmarks: string): Promise<void> {
  for (const path of PAGES_WITH_FIGURES) {
    const page = new URL(path, PACKAGE);
    await writeFile(page, await withPeerFigures(await readFile(page, 'utf8'), benchmarks));
  }
}

/** The commit of the working tree, `+` behind it when files differ from it. */
export function commitMeasured(): string {
  const git = (...parameters: string[]): string | undefined => {
    const { status, stdout } = spawnSync('git', parameters, { cwd: fileURLToPath(PACKAGE), encoding: 'utf8' });
    return status === 0 ? stdout.trim() : undefined;
  };
  const commit = git('rev-parse', '--short=9', 'HEAD');
  if (commit === undefined) return 'unknown';
  // What a run itself writes is no difference.
  const differs = git('status', '--porcelain', '--', '.', ':!bench/results', ':!docs', ':!README.md');
  return differs === '' ? commit : `${commit}+`;
}
