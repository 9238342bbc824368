// Runs the suites of callables in every placement that `TEST_PLACEMENT` knows and `npm test` does not try, and prints a table of
// what ran where: `node test/placements/run.mjs [placement…]`, after `npm run build`.
//
// Threads of instances take modules, and tests have functions: there, and on a real tritonserver, other cases ask the same of the
// same models (test/e2e/placements.test.ts, test/tritonserver/run.sh).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { LEFT_OUT, SUITES } from './left-out.mjs';

/** @typedef {{ readonly status: string, readonly fullName: string }} Test */
/** @typedef {{ passed: number, failed: number, leftOut: number }} Counts */

const placements = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(LEFT_OUT);
const folder = mkdtempSync(join(tmpdir(), 'placements-'));
/** @type {string[]} */
const problems = [];

/** @param {string} line */
const print = (line) => process.stdout.write(`${line}\n`);
/** @param {string} text */
const literal = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Runs the suites in a placement. @param {string} placement @returns {Map<string, Counts>} */
function runIn(placement) {
  const names = Object.keys(LEFT_OUT[placement] ?? {});
  const report = join(folder, `${placement}.json`);
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...SUITES.map((name) => `test/e2e/${name}.test.ts`)];
  if (names.length > 0) args.push('-t', `^(?!.*(${names.map(literal).join('|')})$)`);
  const { status } = spawnSync(
    process.execPath,
    [...args, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    {
      env: { ...process.env, TEST_PLACEMENT: placement },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  if (status !== 0) problems.push(`${placement}: vitest ended with ${status}`);
  const results = /** @type {{ name: string, assertionResults: Test[] }[]} */ (
    JSON.parse(readFileSync(report, 'utf8')).testResults
  );
  const tests = results.flatMap(({ assertionResults }) => assertionResults);
  for (const name of names) {
    if (!tests.some(({ fullName }) => fullName.endsWith(name)))
      problems.push(`${placement}: there is no test '${name}'`);
  }
  return new Map(
    results.map(({ name, assertionResults }) => {
      const leftOut = assertionResults.filter(({ fullName }) => names.some((end) => fullName.endsWith(end))).length;
      const count = (/** @type {string} */ wanted) => assertionResults.filter(({ status: s }) => s === wanted).length;
      return [basename(name, '.test.ts'), { passed: count('passed'), failed: count('failed'), leftOut }];
    }),
  );
}

/** @param {Counts | undefined} counts */
function cell(counts) {
  if (counts === undefined) return 'did not run';
  const { passed, failed, leftOut } = counts;
  const parts = [`${passed}`, failed > 0 && `${failed} FAILED`, leftOut > 0 && `${leftOut} left out`];
  return parts.filter((part) => part !== false).join(', ');
}

try {
  const columns = placements.map((placement) => /** @type {const} */ ([placement, runIn(placement)]));
  const lines = [
    ['suite', ...placements],
    ...SUITES.map((suite) => [suite, ...columns.map(([, counts]) => cell(counts.get(suite)))]),
  ];
  for (const [suite, ...cells] of lines) print([suite?.padEnd(26), ...cells.map((each) => each.padEnd(20))].join(''));
  for (const placement of placements) {
    for (const [name, reason] of Object.entries(LEFT_OUT[placement] ?? {})) {
      print(`left out of ${placement}: ${name}\n  because ${reason}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}
for (const problem of problems) print(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
