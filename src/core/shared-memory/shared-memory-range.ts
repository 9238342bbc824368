// The part of a region that one tensor of one request uses, from the request's arrival to its end. It may be large: it is
// copied in pieces.

import { Pace, type PacedWork } from '../../model/paced-work.js';
import type { RegionMemory } from './region-memory.js';

/** So much is copied at a time: a fraction of a millisecond. */
const PIECE_BYTES = 1024 * 1024;

export class SharedMemoryRange {
  readonly byteSize: number;
  readonly #memory: RegionMemory;
  readonly #offset: number;
  readonly #onRelease: () => void;
  #released = false;

  constructor(memory: RegionMemory, offset: number, byteSize: number, onRelease: () => void) {
    this.byteSize = byteSize;
    this.#memory = memory;
    this.#offset = offset;
    this.#onRelease = onRelease;
  }

  /** A view that later writes of the client show through; undefined where there is none. */
  view(): Uint8Array | undefined {
    return this.#memory.view(this.#offset, this.byteSize);
  }

  /** The bytes as they are now, in memory of their own. */
  *copy(): PacedWork<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(this.byteSize);
    const pace = new Pace();
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      const piece = bytes.subarray(start, start + PIECE_BYTES);
      this.#memory.copy(this.#offset + start, piece);
      if (pace.spend(piece.length)) yield;
    }
    return bytes;
  }

  /** Writes at the start of the range; what lies behind the bytes stays as it is. */
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
    this.#onRelease();
  }
}
