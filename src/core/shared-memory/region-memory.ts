// The memory of a registered region, read and written through the object's descriptor. The memory is never mapped. A client may
// shrink its object at any moment, even right after a check, and touching the lost part of a mapping would end the process.
// A read reports the loss instead. The descriptor keeps the memory, whatever happens to the object's name.

import { closeSync, fstatSync, readSync, writeSync } from 'node:fs';

import { invalidArg, type TritonError } from '../../errors.js';

export interface OpenedObject {
  readonly descriptor: number;
  readonly size: number;
}

export class RegionMemory {
  readonly #descriptor: number;
  readonly #start: number;
  #closed = false;

  /** Takes ownership of the descriptor. `start` is where the region begins in the object. */
  constructor({ descriptor }: OpenedObject, start: number) {
    this.#descriptor = descriptor;
    this.#start = start;
  }

  /** Fills `target` with the current bytes. Throws INVALID_ARG when the object has shrunk and lost them. */
  copy(offset: number, target: Uint8Array): void {
    const { byteLength } = target;
    if (this.#closed) throw shrunk();
    for (let done = 0; done < byteLength;) {
      const count = readSync(this.#descriptor, target, done, byteLength - done, this.#start + offset + done);
      if (count === 0) throw shrunk();
      done += count;
    }
  }

  /** Writes these bytes of the object and no others. Throws INVALID_ARG when the object has shrunk and lost them. */
  write(offset: number, bytes: Uint8Array): void {
    const position = this.#start + offset;
    // Writing beyond the end would make the object grow again.
    if (this.#closed || fstatSync(this.#descriptor).size < position + bytes.byteLength) throw shrunk();
    for (let done = 0; done < bytes.byteLength;) {
      done += writeSync(this.#descriptor, bytes, done, bytes.byteLength - done, position + done);
    }
  }

  /** Nothing is read or written any more. */
  close(): void {
    if (!this.#closed) closeSync(this.#descriptor);
    this.#closed = true;
  }
}

function shrunk(): TritonError {
  return invalidArg(
    'a shared memory object is smaller than when it was registered, expected its owner to keep its size',
  );
}
