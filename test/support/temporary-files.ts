// A folder of a test's own, gone after it: after the test that makes it, or after the tests of the file that does.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** Its path, with no link in it. */
export function emptyFolder(prefix: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // What a running test says to `afterAll` is forgotten.
  if (TestRunner.getCurrentTest() === undefined) afterAll(remove);
  else onTestFinished(remove);
  return folder;
}

/** Gives a function that writes a file into the folder and returns its path. */
export function temporaryFolder(): (name: string, content?: Uint8Array | string) => string {
  const folder = emptyFolder('tstriton-');
  return (name, content) => {
    const path = join(folder, name);
    if (content !== undefined) writeFileSync(path, content);
    return path;
  };
}
