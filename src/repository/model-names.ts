// The names of the models in model repositories: every folder in a repository is a model.

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
    // Links that lead nowhere, or to themselves, are not folders. Other failures count as folders: the model's reader reports the reason.
    return !NOWHERE.has((error as NodeJS.ErrnoException).code);
  }
}
