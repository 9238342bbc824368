// Tells of files that change in folders and in those below them. It watches folders, not files, so that editors may put a new file in the
// place of the old one. It leaves out folders of packages and hidden folders.

import { type Dirent, type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';

/** More of them say that the folder is none of a project. */
const MOST_FOLDERS = 2000;

export class FolderWatcher {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #onChange: (path: string) => void;
  readonly #onError: (message: string) => void;
  #saysFull = false;

  constructor(onChange: (path: string) => void, onError: (message: string) => void) {
    this.#onChange = onChange;
    this.#onError = onError;
  }

  /** The folder and all below it. */
  watchTree(folder: string): void {
    if (!this.#watch(folder)) return;
    for (const entry of entriesIn(folder)) if (isWatched(entry)) this.watchTree(join(folder, entry.name));
  }

  /** The folder of a file alone. */
  watchFile(path: string): void {
    this.#watch(dirname(path));
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** Whether the folder is watched now. */
  #watch(folder: string): boolean {
    if (this.#watchers.has(folder)) return true;
    if (this.#watchers.size >= MOST_FOLDERS) {
      if (!this.#saysFull) this.#onError(`more than ${MOST_FOLDERS} folders: those beyond are not watched`);
      this.#saysFull = true;
      return false;
    }
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
      return true;
    } catch (error) {
      this.#onError(`${folder} cannot be watched: ${(error as Error).message}`);
      return false;
    }
  }

  #watchNew(path: string): void {
    // The watcher of a folder that was here before does not see this one.
    this.#forget(path);
    if (!isFolder(path)) return;
    this.#watch(path);
    for (const entry of entriesIn(path)) {
      const below = join(path, entry.name);
      this.#onChange(below);
      if (isWatched(entry)) this.#watchNew(below);
    }
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isWatched(entry: Dirent): boolean {
  return entry.isDirectory() && !isLeftOut(entry.name);
}

function isLeftOut(name: string): boolean {
  return name === 'node_modules' || name.startsWith('.');
}
