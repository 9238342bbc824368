// What vitest does before and after a run of tests: a folder of the run's own, for what several test files make once together, see
// `once-per-run.ts`. Each project is set up by itself; the first one makes the folder.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const RUN_FOLDER_VARIABLE = 'TSTRITON_TEST_RUN_FOLDER';

export function setup(): (() => void) | undefined {
  if (process.env[RUN_FOLDER_VARIABLE] !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'tstriton-run-'));
  process.env[RUN_FOLDER_VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
