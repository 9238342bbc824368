// A model repository in a folder that is there.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface TestedRepository {
  readonly path: string;
  /** Writes a file, `model/1/model.mjs`, and the folders that it lies in. */
  write(file: string, content: Uint8Array | string): void;
  remove(path: string): void;
  link(path: string, target: string): void;
}

export function repositoryAt(path: string): TestedRepository {
  return {
    path,
    write: (file, content) => {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), content);
    },
    remove: (name) => rmSync(join(path, name), { recursive: true, force: true }),
    link: (name, target) => symlinkSync(target, join(path, name)),
  };
}
