// `npm run reliability -- [check…] [--full] [--seed S]`: runs the checks, each in a process of its own, and writes what they measured
// into RELIABILITY.md. Fails when something is not met.
import { execFileSync, fork } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { format, resolveConfig } from 'prettier';

import type { CheckOptions, Figure } from './check.js';
import { CHECKS } from './checks.js';
import { nameOfRun, withRuns, type Run, type Runs } from './page.js';

const PAGE = fileURLToPath(new URL('../../RELIABILITY.md', import.meta.url));
const RUNS = fileURLToPath(new URL('runs.json', import.meta.url));

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function machine(): string {
  const gigabytes = (totalmem() / 2 ** 30).toFixed(0);
  return `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${gigabytes} GiB, Node ${process.version}`;
}

function load(): number {
  return Number(loadavg()[0]!.toFixed(1));
}

async function runCheck(name: string, options: CheckOptions): Promise<Run> {
  const before = load();
  const begin = performance.now();
  const child = fork(fileURLToPath(new URL('one.ts', import.meta.url)), [name, JSON.stringify(options)], {
    execArgv: ['--expose-gc', '--import', 'tsx'],
  });
  let figures: readonly Figure[] | undefined;
  child.on('message', (message) => (figures = message as readonly Figure[]));
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (figures === undefined || code !== 0) throw new Error(`${name} ended with ${String(code)}, seed ${options.seed}`);
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: git('rev-parse', '--short=10', 'HEAD') + (git('status', '--porcelain', 'src') === '' ? '' : ' and changes'),
    form: options.isFull ? 'full' : 'short',
    seed: options.seed,
    seconds: Math.round((performance.now() - begin) / 1000),
    machine: machine(),
    load: [before, load()],
    figures,
  };
}

/** Runs may lie here of checks that somebody else runs at the same time: only its own is replaced. */
async function keep(name: string, run: Run): Promise<void> {
  const runs: Runs = existsSync(RUNS) ? (JSON.parse(readFileSync(RUNS, 'utf8')) as Runs) : {};
  const all = { ...runs, [name]: run };
  const written = async (path: string, text: string) =>
    writeFileSync(path, await format(text, { ...(await resolveConfig(path)), filepath: path }));
  await written(RUNS, JSON.stringify(all));
  await written(PAGE, withRuns(readFileSync(PAGE, 'utf8'), all));
}

const { values, positionals } = parseArgs({
  options: { full: { type: 'boolean', default: false }, seed: { type: 'string' } },
  allowPositionals: true,
});
for (const name of positionals) {
  if (!Object.hasOwn(CHECKS, name)) {
    throw new Error(`there is no check '${name}', expected some of ${Object.keys(CHECKS).join(', ')}`);
  }
}
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
if (!Number.isSafeInteger(seed)) throw new Error(`--seed must be an integer, got '${values.seed}'`);
for (const name of positionals.length > 0 ? positionals : Object.keys(CHECKS)) {
  console.log(`${name}: ${CHECKS[name]!.about}, seed ${seed}`);
  try {
    const run = await runCheck(name, { seed, isFull: values.full });
    await keep(nameOfRun(name), run);
    for (const { what, got, wanted, isMet } of run.figures) {
      console.log(
        `  ${what}: ${got}${wanted === undefined ? '' : ` (wanted ${wanted})`}${isMet === false ? ' NOT MET' : ''}`,
      );
      if (isMet === false) process.exitCode = 1;
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
