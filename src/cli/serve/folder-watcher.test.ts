import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { FolderWatcher } from './folder-watcher.js';

let folder: string;
let watcher: FolderWatcher;
let changed: Set<string>;
const at = (...names: readonly string[]) => join(folder, ...names);

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'tstriton-')));
  changed = new Set();
  watcher = new FolderWatcher(
    (path) => changed.add(path),
    (message) => expect.unreachable(message),
  );
});
afterEach(() => {
  watcher.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a watcher of folders', () => {
  it('tells of files that are written, put in place and made, in folders below too', async () => {
    mkdirSync(at('a/b'), { recursive: true });
    watcher.watchTree(folder);
    writeFileSync(at('a/b/x.ts'), '1');
    await vi.waitFor(() => expect(changed).toContain(at('a/b/x.ts')));
    changed.clear();
    writeFileSync(at('a/new'), '2');
    renameSync(at('a/new'), at('a/b/x.ts'));
    await vi.waitFor(() => expect(changed).toContain(at('a/b/x.ts')));
  });

  it('watches folders that come later, and tells of what is in them already', async () => {
    watcher.watchTree(folder);
    mkdirSync(at('later'));
    writeFileSync(at('later/x.ts'), '1');
    await vi.waitFor(() => expect(changed).toContain(at('later/x.ts')));
    changed.clear();
    writeFileSync(at('later/x.ts'), '2');
    await vi.waitFor(() => expect(changed).toContain(at('later/x.ts')));
  });

  it('leaves out packages and what is hidden', async () => {
    mkdirSync(at('node_modules/p'), { recursive: true });
    mkdirSync(at('.git'));
    watcher.watchTree(folder);
    writeFileSync(at('node_modules/p/x.js'), '1');
    writeFileSync(at('.git/x.js'), '1');
    writeFileSync(at('last.ts'), '1');
    await vi.waitFor(() => expect(changed).toContain(at('last.ts')));
    expect([...changed]).toEqual([at('last.ts')]);
  });

  it('watches the folder of one file, once', async () => {
    watcher.watchFile(at('x.ts'));
    watcher.watchFile(at('y.ts'));
    writeFileSync(at('x.ts'), '1');
    await vi.waitFor(() => expect(changed).toContain(at('x.ts')));
  });

  it.each([
    ['removed and made anew', () => rmSync(at('lib'), { recursive: true })],
    ['moved away', () => renameSync(at('lib'), at('before'))],
  ])('tells of files in a folder that takes the place of one that was %s', async (_, leave) => {
    mkdirSync(at('lib/deep'), { recursive: true });
    watcher.watchTree(folder);
    leave();
    mkdirSync(at('lib/deep'), { recursive: true });
    writeFileSync(at('lib/deep/first.ts'), '1');
    await vi.waitFor(() => expect(changed).toContain(at('lib/deep/first.ts')));
    for (const file of ['lib/x.ts', 'lib/deep/x.ts']) {
      writeFileSync(at(file), '1');
      await vi.waitFor(() => expect(changed).toContain(at(file)));
    }
  });

  it('says once that a folder has too many below it', () => {
    for (let i = 0; i < 2010; i++) mkdirSync(at(`f${i}`));
    const messages: string[] = [];
    const many = new FolderWatcher(
      () => undefined,
      (message) => messages.push(message),
    );
    many.watchTree(folder);
    many.watchTree(folder);
    many.close();
    expect(messages).toEqual(['more than 2000 folders: those beyond are not watched']);
  });
});
