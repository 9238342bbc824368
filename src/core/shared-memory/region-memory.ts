// The memory of a registered region. Whoever opens one has checked that the object is large enough; the memory stays
// as it was registered until it is closed, whatever happens to the object's name.

import { closeSync, fstatSync, readSync, writeSync } from 'node:fs';

import { TritonError } from '../../errors.js';

/** A part of a shared memory object. */
export interface RegionMemory {
  /** A view that later writes of the client show through; undefined where there is none. */
  view(offset: number, length: number): Uint8Array | undefined;
  /** Fills `target` with the bytes as they are now. */
  copy(offset: number, target: Uint8Array): void;
  /** Writes through to the object, and nowhere else than into these bytes. */
  write(offset: number, bytes: Uint8Array): void;
  /** Nothing is read or written any more. Views that were given out stay valid. */
  close(): void;
}

/** An object that was opened but is not used yet. */
export interface OpenedObject {
  readonly descriptor: number;
  readonly size: number;
}

/** Makes the memory of a part of an object. Takes ownership of the descriptor. */
export type MapRegion = (object: OpenedObject, offset: number, byteSize: number) => RegionMemory;

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
