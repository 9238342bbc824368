// `npm run bench -- <suite> [options]`: runs one suite or all of them, prints their tables, keeps their samples in
// bench/results/, and of all makes docs/benchmarks.md.

import { readOptions, usage } from './bench-options.js';
import type { BenchRequest } from './bench-options.js';
import { benchmarksPage } from './page/benchmarks-page.js';
import { chosen } from './chosen.js';
import { lastResults, readExplained, writePage } from './results-file.js';
import { runSuite } from './run-suite.js';
import { SUITES } from './suites.js';

async function makePage(isQuick: boolean): Promise<void> {
  const abouts = Object.entries(SUITES).map(([name, { about, rounds }]) => ({ name, about, rounds }));
  const files = await benchmarksPage(abouts, await lastResults(isQuick), await readExplained());
  console.log(`page: ${await writePage(isQuick, files)}`);
}

async function runAll({ only, ...options }: BenchRequest['options']): Promise<void> {
  if (options.servers !== undefined) throw new Error('--servers is for one suite: each has servers of its own');
  const names = chosen(Object.keys(SUITES), only, '--only');
  const took: string[] = [];
  for (const name of names) {
    console.log(`\n=== ${name}`);
    try {
      const { errors, seconds } = await runSuite(name, SUITES[name]!.run, { ...options, only: undefined });
      took.push(`${name} ${seconds} s`);
      if (errors > 0) process.exitCode = 1;
    } catch (error) {
      // The other suites have their say all the same.
      console.error(`${name} broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      took.push(`${name} broke off`);
      process.exitCode = 1;
    }
  }
  console.log(`\n${took.join(', ')}`);
  await makePage(options.isQuick);
}

async function main(): Promise<void> {
  const asked = readOptions(process.argv.slice(2));
  if (!asked) {
    console.log(usage(SUITES));
    return;
  }
  const { command, options } = asked;
  if (command === 'page') return makePage(options.isQuick);
  if (command === 'all') return runAll(options);
  const suite = SUITES[command];
  if (!suite) {
    throw new Error(`unknown suite '${command}', expected one of ${Object.keys(SUITES).join(', ')}, all, page`);
  }
  const { errors } = await runSuite(command, suite.run, options);
  if (errors > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
