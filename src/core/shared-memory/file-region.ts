// A region read and written through its descriptor: no native code, one copy each way, and a client that shrinks its
// object meanwhile gets an error.

import { closeSync, fstatSync, readSync, writeSync } from 'node:fs';

import { TritonError } from '../../errors.js';
import type { OpenedObject, RegionMemory } from './region-memory.js';

export class FileRegion implements RegionMemory {
  readonly #descriptor: number;
  readonly #start: number;
  #closed = false;

  /** `start` is where the region begins in the object. */
  constructor({ descriptor }: OpenedObject, start: number) {
    this.#descriptor = descriptor;
    this.#start = start;
  }

  view(): undefined {
    return undefined;
  }

  copy(offset: number, target: Uint8Array): void {
    const { byteLength } = target;
    for (let done = 0; done < byteLength;) {
      const count = readSync(this.#descriptor, target, done, byteLength - done, this.#start + offset + done);
      if (count === 0) throw shrunk();
      done += count;
    }
  }

  write(offset: number, bytes: Uint8Array): void {
    const position = this.#start + offset;
    // Writing beyond the end would make the object grow again.
    if (fstatSync(this.#descriptor).size < position + bytes.byteLength) throw shrunk();
    for (let done = 0; done < bytes.byteLength;) {
      done += writeSync(this.#descriptor, bytes, done, bytes.byteLength - done, position + done);
    }
  }

  close(): void {
    if (!this.#closed) closeSync(this.#descriptor);
    this.#closed = true;
  }
}

export function shrunk(): TritonError {
  return new TritonError(
    'INVALID_ARG',
    'a shared memory object is smaller than when it was registered, expected its owner to keep its size',
  );
}
