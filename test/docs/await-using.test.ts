// What the README says of `await using` in loops: with some compilers an error that was caught comes back. When this fails,
// the trap is gone, and so may be the sentences about it.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);

/** Fails once, and then goes well twice. */
const ATTEMPTS = `
const clients = [1, 2, 3].map((attempt) => ({ attempt, async [Symbol.asyncDispose]() {} }));
for (const next of clients) {
  try {
    await using client = next;
    if (client.attempt === 1) throw new Error('of attempt 1');
    console.log(client.attempt, 'went well');
  } catch (error) {
    console.log(next.attempt, 'caught the error', (error as Error).message);
  }
}
export {};
`;

describe('await using in a loop', () => {
  let folder: string;
  beforeAll(() => {
    // In the package, so that tsc finds the types of Node.
    folder = mkdtempSync(join(ROOT, 'build', 'await-using-'));
    writeFileSync(join(folder, 'attempts.mts'), ATTEMPTS);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function run(...args: readonly string[]): string[] {
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(stdout + stderr);
    return stdout.trim().split('\n');
  }

  it('is right when TypeScript compiles it', () => {
    const tsc = join(dirname(require.resolve('typescript-5.9/package.json')), 'bin', 'tsc');
    const options = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,esnext.disposable'];
    run(tsc, ...options, '--types', 'node', 'attempts.mts');
    expect(run('attempts.mjs')).toEqual(['1 caught the error of attempt 1', '2 went well', '3 went well']);
  });

  it('throws an old error again when esbuild compiles it, which tsx has do that', () => {
    expect(run('--import', 'tsx', 'attempts.mts')).toEqual([
      '1 caught the error of attempt 1',
      '2 went well',
      '2 caught the error of attempt 1',
      '3 went well',
      '3 caught the error of attempt 1',
    ]);
  });
});
