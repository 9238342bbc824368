// Regions mapped into memory, with the optional package koffi: inputs are then read where the client wrote them. A
// mapping stays until the last view of it is collected, because touching memory that is not mapped ends the process.
// So does touching what a client cut off its object: its size is checked before each use, which leaves a client that
// is allowed to register regions, and shrinks one in the very moment, able to do what it can do to Triton.

import { closeSync, fstatSync } from 'node:fs';

import { type MapRegion, type OpenedObject, type RegionMemory, shrunk } from './region-memory.js';

const READ_AND_WRITE = 3;
const SHARED = 1;
/** What mmap returns when it fails: (void *) -1. */
const FAILED = 2n ** 64n - 1n;

/** Loads koffi; undefined when it is not installed or has no build for this machine. */
export async function loadMapRegion(): Promise<MapRegion | undefined> {
  try {
    const { default: koffi } = await import('koffi');
    const c = koffi.load('libc.so.6');
    const mmap = c.func('void *mmap(void *addr, size_t length, int prot, int flags, int fd, int64_t offset)');
    const munmap = c.func('int munmap(void *addr, size_t length)');
    const unmapping = new FinalizationRegistry(({ address, length }: { address: bigint; length: number }) => {
      munmap(address, length);
    });
    return (object, offset, byteSize) => {
      const address = mmap(null, byteSize, READ_AND_WRITE, SHARED, object.descriptor, offset) as bigint;
      if (address === FAILED) throw new Error('mmap failed');
      const memory = koffi.view(address, byteSize);
      unmapping.register(memory, { address, length: byteSize });
      return new MappedRegion(object, offset, memory);
    };
  } catch {
    return undefined;
  }
}

class MappedRegion implements RegionMemory {
  readonly #descriptor: number;
  readonly #end: number;
  #memory: ArrayBuffer | undefined;

  constructor({ descriptor }: OpenedObject, start: number, memory: ArrayBuffer) {
    this.#descriptor = descriptor;
    this.#end = start + memory.byteLength;
    this.#memory = memory;
  }

  view(offset: number, length: number): Uint8Array {
    return this.#view(offset, length);
  }

  copy(offset: number, target: Uint8Array): void {
    target.set(this.#view(offset, target.byteLength));
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#view(offset, bytes.byteLength).set(bytes);
  }

  close(): void {
    if (this.#memory === undefined) return;
    this.#memory = undefined;
    closeSync(this.#descriptor);
  }

  #view(offset: number, length: number): Uint8Array {
    if (this.#memory === undefined || fstatSync(this.#descriptor).size < this.#end) throw shrunk();
    return new Uint8Array(this.#memory, offset, length);
  }
}
