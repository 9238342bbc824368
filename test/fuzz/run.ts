// `npm run fuzz -- [target…] [--runs N | --minutes N] [--seed S]`: the long form of the fuzz tests. Without targets it goes over all of
// them, without a seed it begins where nobody has been. What is found is printed, and lies in test/fuzz/found/ from then on.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { fuzz, FuzzFinding, newReport, type FuzzReport } from './fuzz-target.js';
import { runFuzzedTest } from './run-fuzzed-test.js';
import { FUZZED_TESTS, TARGETS, type FuzzedTest } from './targets.js';
import { watchForHangs } from './watch.js';

const STRIDE = 2000;
const RUNS = 100_000;
/** Connections cost more than decoders do. */
const RUNS_OF_TESTS = 5000;

interface Wanted {
  readonly runs: number | undefined;
  readonly minutes: number | undefined;
  readonly seed: number;
}

function readArguments(): { readonly names: readonly string[]; readonly wanted: Wanted } {
  const { values, positionals } = parseArgs({
    options: { runs: { type: 'string' }, minutes: { type: 'string' }, seed: { type: 'string' } },
    allowPositionals: true,
  });
  const all = [...Object.keys(TARGETS), ...Object.keys(FUZZED_TESTS)];
  for (const name of positionals) {
    if (!all.includes(name)) throw new Error(`there is no target '${name}', expected some of ${all.join(', ')}`);
  }
  const number = (option: keyof typeof values) => {
    const text = values[option];
    if (text === undefined) return undefined;
    const value = Number(text);
    if (!(value >= 0) || text.trim() === '') throw new Error(`--${option} must be a number, got '${text}'`);
    return value;
  };
  const seed = number('seed') ?? Math.floor(Math.random() * 2 ** 31);
  return {
    names: positionals.length > 0 ? positionals : all,
    wanted: { runs: number('runs'), minutes: number('minutes'), seed },
  };
}

function fuzzTarget(name: string, { runs, minutes, seed }: Wanted): FuzzReport {
  using _watch = watchForHangs();
  const report = newReport();
  const deadline = minutes === undefined ? Infinity : performance.now() + minutes * 60_000;
  const most = runs ?? (minutes === undefined ? RUNS : Infinity);
  while (report.runs < most && performance.now() < deadline) {
    fuzz(TARGETS[name]!, seed + report.runs, Math.min(STRIDE, most - report.runs), report);
  }
  return report;
}

/** Runs the test until the runs, or the minutes, are over; with minutes each time from another seed. */
async function fuzzTest(test: FuzzedTest, { runs, minutes, seed }: Wanted): Promise<FuzzReport> {
  const report = newReport();
  const deadline = minutes === undefined ? undefined : performance.now() + minutes * 60_000;
  const most = runs ?? RUNS_OF_TESTS;
  do {
    const count = deadline === undefined ? most : RUNS_OF_TESTS;
    await runFuzzedTest(test, { seed: seed + report.runs, runs: count });
    report.runs += count;
  } while (deadline !== undefined && performance.now() < deadline);
  return report;
}

const { names, wanted } = readArguments();
for (const name of names) {
  const begin = performance.now();
  try {
    const test = FUZZED_TESTS[name];
    const { runs, accepted, slowestMs } = test === undefined ? fuzzTarget(name, wanted) : await fuzzTest(test, wanted);
    const seconds = ((performance.now() - begin) / 1000).toFixed(0);
    const more = test === undefined ? `, ${accepted} taken, slowest ${slowestMs.toFixed(0)} ms` : '';
    console.log(`${name}: ${runs} inputs from seed ${wanted.seed} in ${seconds} s${more}`);
  } catch (error) {
    process.exitCode = 1;
    console.error(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    if (!(error instanceof FuzzFinding)) continue;
    const file = new URL(`found/${name}.${error.seed}.hex`, import.meta.url);
    writeFileSync(file, `${error.input.toString('hex')}\n`);
    console.error(`${name}: the input lies in ${file.pathname}`);
  }
}
