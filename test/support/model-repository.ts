// A model repository in a folder of its own, gone after the tests of its file.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll } from 'vitest';

export interface TestedRepository {
  readonly path: string;
  /** Writes a file, `model/1/model.mjs`, and the folders that it lies in. */
  write(file: string, content: Uint8Array | string): void;
  remove(path: string): void;
  link(path: string, target: string): void;
}

/** With these files. */
export function modelRepository(files: Readonly<Record<string, Uint8Array | string>> = {}): TestedRepository {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'tstriton-repository-')));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  const repository: TestedRepository = {
    path,
    write: (file, content) => {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), content);
    },
    remove: (name) => rmSync(join(path, name), { recursive: true, force: true }),
    link: (name, target) => symlinkSync(target, join(path, name)),
  };
  for (const [file, content] of Object.entries(files)) repository.write(file, content);
  return repository;
}

/** A module that adds a number to what it gets; its text is a state of the model that no other number has. */
export function addingModule(added: number, config = '{ maxBatchSize: 8 }'): string {
  return `export default {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: ${config},
  inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ y: x.data.map((value) => value + ${added}) })),
};
`;
}
