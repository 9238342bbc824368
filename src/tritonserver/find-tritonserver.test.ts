import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, vi } from 'vitest';

import { emptyFolder } from '../../test/support/temporary-files.js';
import { checkTritonserver } from './find-tritonserver.js';

const STUB = 'triton_python_backend_stub';

const BACKEND = 'backends/python/libtriton_python.so';

/** A folder with these executables, which need no library that is not there. */
function installation(...files: readonly string[]): string {
  const folder = emptyFolder('tstriton-find-');
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync('/bin/sh', join(folder, file));
  }
  return folder;
}

it("finds the given binary with NVIDIA's layout", () => {
  const folder = installation('bin/tritonserver', `backends/python/${STUB}`, BACKEND);
  const binary = join(folder, 'bin/tritonserver');
  expect(checkTritonserver(binary)).toBe(binary);
});

it('finds the binary on the PATH, and passes folders of its name by', () => {
  const other = installation('tritonserver/bin/tritonserver');
  const folder = installation('bin/tritonserver', `backends/python/${STUB}`, BACKEND);
  vi.stubEnv('PATH', `${other}:${join(folder, 'bin')}`);
  expect(checkTritonserver(undefined)).toBe(join(folder, 'bin/tritonserver'));
});

it('says what is missing', () => {
  const folder = installation('bin/tritonserver', 'bin/other');
  const binary = join(folder, 'bin/tritonserver');
  const packages = 'lib/python3.4/site-packages';
  const wheel = join(
    installation(`${packages}/pytriton/tritonserver/bin/tritonserver`),
    packages,
    'pytriton/tritonserver',
  );
  writeFileSync(join(folder, 'text'), '');
  chmodSync(join(folder, 'text'), 0o644);
  const cases = [
    [join(folder, 'none'), `the binary: there is no ${join(folder, 'none')}, which tritonserverPath names`],
    [folder, `the binary: ${folder}, which tritonserverPath names, is a folder`],
    [join(folder, 'text'), `the right to run ${join(folder, 'text')}, which tritonserverPath names`],
    [binary, `its python backend: there is no ${join(folder, 'backends/python', STUB)}`],
    [
      join(wheel, 'bin/tritonserver'),
      `the stub of its python backend: there is no ${join(wheel, 'python_backend_stubs/3.4', STUB)}`,
    ],
  ] as const;
  for (const [path, what] of cases) {
    expect(() => checkTritonserver(path)).toThrow(
      expect.objectContaining({
        code: 'UNAVAILABLE',
        message: `engine: 'tritonserver' cannot start, it lacks ${what}`,
      }),
    );
  }
  vi.stubEnv('PATH', folder);
  expect(() => checkTritonserver(undefined)).toThrow("there is no 'tritonserver' on the PATH");
});

it.skipIf(process.platform !== 'linux')('says what the library of the python backend lacks', () => {
  const folder = installation('bin/tritonserver', `backends/python/${STUB}`);
  const binary = join(folder, 'bin/tritonserver');
  const backend = join(folder, BACKEND);
  const lacks = (what: string) => `engine: 'tritonserver' cannot start, it lacks ${what}`;
  expect(() => checkTritonserver(binary)).toThrow(lacks(`its python backend: there is no ${backend}`));
  const shell = readFileSync('/bin/sh').toString('latin1');
  const [, needed] = /\0(lib[a-z]+)\.so\.[0-9]+\0/.exec(shell)!;
  const other = needed!.replace(/.$/, '~');
  writeFileSync(backend, shell.replaceAll(`\0${needed!}.so`, `\0${other}.so`), 'latin1');
  expect(() => checkTritonserver(binary)).toThrow(lacks(`the library ${other}.so`));
});
