// `npm run mutation -- [group…] [--mutate FILE…] [--concurrency N]`: changes the modules of the groups in one small way at a time, runs the
// unit tests that reach the place, and prints the changes that no test noticed and the share of those that one did. Stryker does it,
// in a folder of its own beside the repository: it is installed there, so that `npm install` has nothing to do with it. What
// survives is to be read: it is a missing assertion, needless code, or a change that makes no difference.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { GROUPS } from './groups.js';

/** The last major version that runs on Node 20. */
const VERSION = '9.6.1';
/** A mutant that never ends is given up by then, beyond half as long again as its tests take. */
const TIMEOUT_MILLISECONDS = 3000;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REPORTS = join(ROOT, 'build', 'mutation');
/** What no unit test reads need not be copied for the mutants. */
const LEFT_OUT = ['build', 'coverage', 'dist', 'bench', 'deploy', 'examples', 'shared'];

function run(command: string, args: readonly string[], cwd: string, group = ''): void {
  const { status, error } = spawnSync(command, args, {
    cwd,
    stdio: 'inherit',
    env: { ...process.env, MUTATION_GROUP: group },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')} ended with ${String(status)}`);
}

/** Stryker beside the repository; its runner gets the vitest that is here. */
function install(folder: string): void {
  cpSync(join(ROOT, '.npmrc'), join(folder, '.npmrc'));
  writeFileSync(join(folder, 'package.json'), '{ "name": "mutation", "private": true }');
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${VERSION}`);
  run('npm', ['install', '--legacy-peer-deps', '--no-package-lock', '--no-audit', ...packages], folder);
  symlinkSync(join(ROOT, 'node_modules', 'vitest'), join(folder, 'node_modules', 'vitest'));
}

interface Wanted {
  readonly mutate: readonly string[] | undefined;
  readonly concurrency: number;
}

function mutate(group: string, folder: string, { mutate: files, concurrency }: Wanted): void {
  const stryker = join(folder, 'node_modules', '@stryker-mutator');
  const options = {
    testRunner: 'vitest',
    plugins: [join(stryker, 'vitest-runner', 'dist', 'src', 'index.js')],
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    mutate: files ?? GROUPS[group]!.mutate,
    ignorePatterns: LEFT_OUT,
    tempDirName: join(folder, 'sandbox'),
    // It looks for a compiler that it can call.
    tsconfigFile: 'none.json',
    coverageAnalysis: 'perTest',
    // Tables that are made when a module is loaded: each would take a process of its own.
    ignoreStatic: true,
    concurrency,
    timeoutMS: TIMEOUT_MILLISECONDS,
    reporters: ['clear-text', 'json', 'progress-append-only'],
    clearTextReporter: { allowColor: false, reportTests: false },
    jsonReporter: { fileName: join(REPORTS, `${group}.json`) },
  };
  const file = join(folder, `${group}.json`);
  writeFileSync(file, JSON.stringify(options));
  run(process.execPath, [join(stryker, 'core', 'bin', 'stryker.js'), 'run', file], ROOT, group);
  checkFiles(group);
}

/** Stryker says nothing of test files that do not load beside its mutants, and takes what they would have noticed for unnoticed. */
function checkFiles(group: string): void {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const listed = execFileSync(
    process.execPath,
    [vitest, 'list', '--filesOnly', '--json', '--config', 'test/mutation/vitest.config.ts'],
    { cwd: ROOT, encoding: 'utf8', env: { ...process.env, MUTATION_GROUP: group } },
  );
  const wanted = JSON.parse(listed) as readonly { readonly file: string }[];
  const report = JSON.parse(readFileSync(join(REPORTS, `${group}.json`), 'utf8')) as { readonly testFiles: object };
  const ran = Object.keys(report.testFiles);
  const missing = wanted.map(({ file }) => relative(ROOT, file)).filter((file) => !ran.includes(file));
  if (missing.length > 0) throw new Error(`these tests did not run against the mutants: ${missing.join(', ')}`);
}

const { values, positionals } = parseArgs({
  options: { mutate: { type: 'string', multiple: true }, concurrency: { type: 'string', default: '1' } },
  allowPositionals: true,
});
for (const name of positionals) {
  if (!Object.hasOwn(GROUPS, name)) {
    throw new Error(`there is no group '${name}', expected some of ${Object.keys(GROUPS).join(', ')}`);
  }
}
const concurrency = Number(values.concurrency);
if (!(Number.isSafeInteger(concurrency) && concurrency > 0)) {
  throw new Error(`--concurrency must be a positive integer, got '${values.concurrency}'`);
}
if (values.mutate !== undefined && positionals.length !== 1)
  throw new Error('--mutate takes one group, whose tests run');
mkdirSync(REPORTS, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), 'mutation-'));
try {
  install(folder);
  for (const group of positionals.length > 0 ? positionals : Object.keys(GROUPS)) {
    mutate(group, folder, { mutate: values.mutate, concurrency });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
