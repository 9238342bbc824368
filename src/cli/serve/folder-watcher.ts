// Tells of files that change in folders and in those below them. It watches folders, not files, so that editors may put a new file in the
// place of the old one. It leaves out folders of packages and hidden folders.

import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';

/** More of them say that the folder is none of a project. */
const MOST_FOLDERS = 2000;

export class FolderWatcher {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #onChange: (path: string) => void;
  readonly #onError: (message: string) => void;

  constructor(onChange: (path: string) => void, onError: (message: string) => void) {
    this.#onChange = onChange;
    this.#onError = onError;
  }

  /** The folder and all below it. */
  watchTree(folder: string): void {
    this.#watch(folder);
    for (const name of foldersIn(folder)) this.watchTree(join(folder, name));
  }

  /** The folder of a file alone. */
  watchFile(path: string): void {
    this.#watch(dirname(path));
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return;
    if (this.#watchers.size === MOST_FOLDERS)
      this.#onError(`more than ${MOST_FOLDERS} folders: those beyond are not watched`);
    if (this.#watchers.size >= MOST_FOLDERS) return;
    try {
      const watcher = watch(folder, (event, name) => {
        if (name === null) return;
        const path = join(folder, name);
        this.#onChange(path);
        // This may be a new folder, which already has files in it.
        if (event === 'rename' && !isLeftOut(name)) this.#watchNew(path);
      });
      watcher.on('error', () => this.#forget(folder));
      this.#watchers.set(folder, watcher);
    } catch (error) {
      this.#onError(`${folder} cannot be watched: ${(error as Error).message}`);
    }
  }

  #watchNew(path: string): void {
    let names: readonly string[];
    try {
      names = readdirSync(path);
    } catch {
      // No folder.
      return this.#forget(path);
    }
    this.watchTree(path);
    for (const name of names) this.#onChange(join(path, name));
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !isLeftOut(entry.name))
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

function isLeftOut(name: string): boolean {
  return name === 'node_modules' || name.startsWith('.');
}
