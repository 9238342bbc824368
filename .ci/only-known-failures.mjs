// `node .ci/only-known-failures.mjs <report> <list>`: whether all that failed in a run of Vitest are tests of the list. It prints
// each failure, and ends with 1 where another test, a whole file, or the run itself failed.
//
// A line of the list is `file > names of the test, joined by spaces`, with a comment after `#` that says why the test may fail.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [, , report, list] = process.argv;
const known = new Set(
  readFileSync(list, 'utf8')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#\s.*$/, '').trim())
    .filter((line) => line !== ''),
);

/** Names of the failed tests; undefined where something failed that is no test. */
function failures() {
  if (!existsSync(report)) return undefined;
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const failed = [];
  for (const { name, status, assertionResults } of testResults) {
    const file = relative(process.cwd(), name);
    const tests = assertionResults.filter((test) => test.status === 'failed');
    if (status === 'failed' && tests.length === 0) return undefined;
    for (const test of tests) failed.push(`${file} > ${test.fullName}`);
  }
  return failed.length === 0 ? undefined : failed;
}

const failed = failures();
if (failed === undefined) {
  console.log('the run failed, and not by a test alone');
  process.exitCode = 1;
} else {
  for (const test of failed) {
    const isKnown = known.has(test);
    console.log(`${isKnown ? 'known' : 'NOT KNOWN'}: ${test}`);
    if (!isKnown) process.exitCode = 1;
  }
}
