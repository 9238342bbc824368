// The shared memory objects that the recorded clients had made: files of /dev/shm.
import { rmSync, writeFileSync } from 'node:fs';

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

/** Makes the objects; they are there until disposed. */
export function sharedMemoryObjects(contents: readonly SharedMemoryContent[]): Disposable {
  for (const { name, size, floats } of contents) {
    const content = Buffer.alloc(size);
    content.set(new Uint8Array(Float32Array.from(floats).buffer));
    writeFileSync(`/dev/shm/${name}`, content);
  }
  return {
    [Symbol.dispose]() {
      for (const { name } of contents) rmSync(`/dev/shm/${name}`, { force: true });
    },
  };
}
