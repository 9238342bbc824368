// The part of a region that one tensor of one request uses, from the request's arrival to its end.

import type { RegionMemory } from './region-memory.js';

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

  /** The bytes, possibly a view that later writes of the client show through. */
  read(): Uint8Array {
    return this.#memory.read(this.#offset, this.byteSize);
  }

  /** The bytes as they are now. */
  copy(): Uint8Array {
    return this.#memory.copy(this.#offset, this.byteSize);
  }

  /** Writes at the start of the range; what lies behind the bytes stays as it is. */
  write(bytes: Uint8Array): void {
    this.#memory.write(this.#offset, bytes);
  }

  /** The request has ended. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#onRelease();
  }
}
