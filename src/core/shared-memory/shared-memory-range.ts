// The part of a region that one tensor of one request uses, from the request's arrival to its end. It may be large: it is
// copied in pieces.

import { TritonError } from '../../errors.js';
import { Pace, type PacedWork } from '../../pacing/paced-work.js';
import type { Room } from '../room.js';
import type { RegionMemory } from './region-memory.js';

/** The most bytes copied at a time, which takes a fraction of a millisecond. */
const PIECE_BYTES = 1024 * 1024;

/** Whose range it is. */
export interface RangeOwner {
  /** The memory for copies from regions, which all requests share. */
  readonly room: Pick<Room, 'take' | 'give'> | undefined;
  released(): void;
}

export class SharedMemoryRange {
  readonly byteSize: number;
  readonly #memory: RegionMemory;
  readonly #offset: number;
  readonly #owner: RangeOwner;
  #held = 0;
  #released = false;

  constructor(
    memory: RegionMemory,
    { offset, byteSize }: { readonly offset: number; readonly byteSize: number },
    owner: RangeOwner,
  ) {
    this.byteSize = byteSize;
    this.#memory = memory;
    this.#offset = offset;
    this.#owner = owner;
  }

  /** The bytes as they are now, in memory of their own, which counts until the release. Throws UNAVAILABLE without room. */
  *copy(allocate: (bytes: number) => Buffer): PacedWork<Buffer> {
    const { byteSize } = this;
    if (this.#owner.room?.take(byteSize) === false) throw noRoom(byteSize);
    this.#held += byteSize;
    let bytes: Buffer;
    try {
      bytes = allocate(byteSize);
    } catch (cause) {
      throw noRoom(byteSize, cause);
    }
    const pace = new Pace();
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      const piece = bytes.subarray(start, start + PIECE_BYTES);
      this.#memory.copy(this.#offset + start, piece);
      if (pace.spend(piece.length)) yield;
    }
    return bytes;
  }

  /** Writes at the start of the range. The rest of the range does not change. */
  *write(bytes: Uint8Array): PacedWork<void> {
    const pace = new Pace();
    for (let start = 0; start < bytes.byteLength; start += PIECE_BYTES) {
      const piece = bytes.subarray(start, start + PIECE_BYTES);
      this.#memory.write(this.#offset + start, piece);
      if (pace.spend(piece.byteLength)) yield;
    }
  }

  /** The request has ended. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.#held > 0) this.#owner.room?.give(this.#held);
    this.#owner.released();
  }
}

function noRoom(bytes: number, cause?: unknown): TritonError {
  const message = `there is no room for an input of ${bytes} bytes from shared memory beside what all clients hold (maxInflightBytes): try again later`;
  return new TritonError('UNAVAILABLE', message, { cause });
}
