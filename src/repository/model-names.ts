// The names of what lies in model repositories: every folder in one of them is a model.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

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
  // Through links; one that leads nowhere is none.
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
