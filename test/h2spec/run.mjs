// @ts-check
// Runs h2spec against our gRPC port and compares with expected.txt: `node test/h2spec/run.mjs path/to/h2spec`. The package
// has to be built. One line for each surprise; the exit code is 0 when there is none.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';

import { Triton } from 'tstriton';

import { expectedOf, surprises, verdictsOf } from './report.mjs';

const LIMIT_MS = 120_000;

const [, , h2spec = 'h2spec'] = process.argv;
const scratch = mkdtempSync(join(tmpdir(), 'h2spec-'));
const triton = new Triton({
  allowHttp: false,
  allowMetrics: false,
  grpcAddress: '127.0.0.1',
  grpcPort: 0,
  logFile: devNull,
});
triton.bind({
  modelName: 'identity',
  inferFunc: (requests) => requests,
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
try {
  await triton.run();
  const report = join(scratch, 'report.xml');
  const summary = await h2specSays(['-h', '127.0.0.1', '-p', String(triton.grpcPort), '-j', report]);
  const found = surprises(
    verdictsOf(readFileSync(report, 'latin1')),
    expectedOf(readFileSync(new URL('expected.txt', import.meta.url), 'utf8')),
  );
  for (const line of found) process.stderr.write(`${line}\n`);
  process.stdout.write(`h2spec: ${summary}; ${found.length} surprises\n`);
  if (found.length > 0) process.exitCode = 1;
} finally {
  await triton.stop();
  rmSync(scratch, { recursive: true, force: true });
}

/**
 * The last line of its output. It fails when a case does.
 *
 * @param {string[]} options
 * @returns {Promise<string>}
 */
function h2specSays(options) {
  return new Promise((resolve, reject) => {
    execFile(h2spec, options, { timeout: LIMIT_MS, encoding: 'latin1' }, (error, stdout) => {
      const summary = /\d+ tests, .*/.exec(stdout)?.[0];
      if (summary === undefined) reject(error ?? new Error('h2spec says nothing'));
      else resolve(summary);
    });
  });
}
