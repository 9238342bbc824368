// Makes something once for all test files of a run, which are processes of their own: the first that wants it makes it, the others wait.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { vi } from 'vitest';

import { RUN_FOLDER_VARIABLE } from './run-folder.js';
import { POLL_MILLISECONDS, TEST_MILLISECONDS } from './waiting.js';

/** What `make` has returned, which becomes a file's text; `make` gets a folder that stays until the run's end. Rejects when `make` has thrown. */
export async function oncePerRun(name: string, make: (folder: string) => string): Promise<string> {
  const folder = join(process.env[RUN_FOLDER_VARIABLE]!, name);
  const made = `${folder}.json`;
  if (isFirst(folder))
    writeWhole(
      made,
      outcomeOf(() => make(folder)),
    );
  else await vi.waitUntil(() => existsSync(made), { timeout: TEST_MILLISECONDS, interval: POLL_MILLISECONDS });
  const { value, failure } = JSON.parse(readFileSync(made, 'utf8')) as Outcome;
  if (value === undefined) throw new Error(failure);
  return value;
}

interface Outcome {
  readonly value?: string;
  readonly failure?: string;
}

/** Only one process makes a folder. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

function outcomeOf(make: () => string): Outcome {
  try {
    return { value: make() };
  } catch (error) {
    return { failure: String(error) };
  }
}

function writeWhole(path: string, outcome: Outcome): void {
  writeFileSync(`${path}.part`, JSON.stringify(outcome));
  renameSync(`${path}.part`, path);
}
