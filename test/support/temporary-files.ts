// A folder of a test file's own, gone after its tests.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll } from 'vitest';

/** Gives a function that writes a file into the folder and returns its path. */
export function temporaryFolder(): (name: string, content?: Uint8Array | string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'tstriton-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return (name, content) => {
    const path = join(folder, name);
    if (content !== undefined) writeFileSync(path, content);
    return path;
  };
}
