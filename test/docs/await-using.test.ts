// What installation.md says of `await using` in loops: with some compilers an error that was caught comes back. When this fails,
// the trap is gone, and so may be the sentences about it.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

import type typescript from 'typescript-5.9';
import { describe, expect, it } from 'vitest';

const require = createRequire(import.meta.url);
const ts = require('typescript-5.9') as typeof typescript;
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

function run(type: 'module' | 'commonjs', code: string): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [`--input-type=${type}`, '--eval', code], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

function printedBy(module: string): string[] {
  return run('module', module).trim().split('\n');
}

describe('await using in a loop', () => {
  it('is right when TypeScript compiles it', () => {
    const { ScriptTarget, ModuleKind } = ts;
    const compilerOptions = { target: ScriptTarget.ES2022, module: ModuleKind.ES2022 };
    const { outputText } = ts.transpileModule(ATTEMPTS, { compilerOptions });
    expect(printedBy(outputText)).toEqual(['1 caught the error of attempt 1', '2 went well', '3 went well']);
  });

  it('throws an old error again when esbuild compiles it', () => {
    const fromTsx = createRequire(require.resolve('tsx/package.json')); // the one that tsx has
    const code = `
      const { transformSync } = require(${JSON.stringify(fromTsx.resolve('esbuild'))});
      process.stdout.write(transformSync(${JSON.stringify(ATTEMPTS)}, { loader: 'ts', target: 'es2022' }).code);`;
    expect(printedBy(run('commonjs', code))).toEqual([
      '1 caught the error of attempt 1',
      '2 went well',
      '2 caught the error of attempt 1',
      '3 went well',
      '3 caught the error of attempt 1',
    ]);
  });
});
