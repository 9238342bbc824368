// The tests in test/types are compiled, never run: each `@ts-expect-error` there is a test that bad code is refused.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const TYPES = fileURLToPath(new URL('./types', import.meta.url));
const COMPILER = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');

/** What the compiler has to say about the project in `folder`: nothing when it compiles. */
function compile(folder: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMPILER, '--noEmit', '-p', folder], (error, stdout, stderr) => {
      resolve(error === null ? '' : stdout + stderr || error.message);
    });
  });
}

describe('the types that users see', () => {
  it('accept good code and refuse bad code', async () => {
    expect(await compile(TYPES)).toBe('');
  });

  it('take Float16Array where the compiler has one', async () => {
    expect(await compile(join(TYPES, 'float16'))).toBe('');
  });

  it('would be reported when bad code compiled', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tstriton-types-'));
    try {
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { strict: true, types: [] } }));
      await writeFile(
        join(folder, 'probe.ts'),
        '// @ts-expect-error Nothing is wrong here.\nexport const fine: number = 1;\n',
      );
      expect(await compile(folder)).toContain("error TS2578: Unused '@ts-expect-error' directive");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
