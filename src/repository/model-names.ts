// The names of what lies in model repositories: every folder in one of them is a model.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const NOWHERE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/** Throws what the file system says of a repository that cannot be read. */
export function modelNamesIn(repository: string): readonly string[] {
  return readdirSync(repository).filter((name) => !name.startsWith('.') && isFolder(join(repository, name)));
}

/** Of all of them, sorted; a repository that cannot be read has none. */
export function modelNames(repositories: readonly string[]): readonly string[] {
  const names = repositories.flatMap((repository) => {
    try {
      return modelNamesIn(repository);
    } catch {
      return [];
    }
  });
  return [...new Set(names)].sort();
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    // Links that lead nowhere, or to themselves, are none. Of what cannot be looked at the model's reader says why.
    return !NOWHERE.has((error as NodeJS.ErrnoException).code);
  }
}
