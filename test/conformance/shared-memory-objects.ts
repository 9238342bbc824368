// The shared memory objects that the recorded clients had made: files of /dev/shm.
import { rmSync, writeFileSync } from 'node:fs';
import type { SharedMemoryNames } from './shared-memory-names.js';

interface SharedMemoryContent {
  readonly name: string;
  readonly size: number;
  /** The 32-bit floats that it begins with. */
  readonly floats: readonly number[];
}

export const HTTP_SHARED_MEMORY: readonly SharedMemoryContent[] = ['a', 'b'].map((letter) => ({
  name: `golden_http_${letter}`,
  size: 4096,
  floats: letter === 'a' ? [0, 1, 2, 3] : [],
}));

export const GRPC_SHARED_MEMORY: readonly SharedMemoryContent[] = [
  '',
  '_2',
  '_3',
  '_4',
  '_5',
  '_6',
  '_7',
  '_8',
  '_9',
].map((suffix) => ({
  name: `golden_grpc_region${suffix}`,
  size: 8192,
  floats: [1, 2, 3, 4, 5, 6, 7, 8],
}));

/** Makes the objects under their names here; they are there until disposed. */
export function sharedMemoryObjects(contents: readonly SharedMemoryContent[], names: SharedMemoryNames): Disposable {
  const paths = contents.map(({ name, size, floats }) => {
    const content = Buffer.alloc(size);
    content.set(new Uint8Array(Float32Array.from(floats).buffer));
    const path = `/dev/shm/${names.own(name)}`;
    writeFileSync(path, content);
    return path;
  });
  return {
    [Symbol.dispose]() {
      for (const path of paths) rmSync(path, { force: true });
    },
  };
}
