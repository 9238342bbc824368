// Declares clients' shared memory in the words of the protocols: registered regions, and tensors that lie in them.
// Sizes and offsets are 64-bit on the wire.

import type { PacedWork } from '../pacing/paced-work.js';

/** A region as it was registered. */
export interface SystemSharedMemoryRegion {
  readonly name: string;
  /** The POSIX name of the shared memory object. */
  readonly key: string;
  readonly offset: number | bigint;
  readonly byteSize: number | bigint;
}

/** The place of a tensor. */
export interface SharedMemoryReference {
  readonly region: string;
  readonly offset: number | bigint;
  readonly byteSize: number | bigint;
}

/** The bytes of an input. */
export interface SharedInput {
  readonly bytes: Uint8Array;
  /** The bytes' memory, if it holds nothing else. */
  readonly memory: ArrayBuffer | undefined;
}

/**
 * Access to shared memory for the decoding of a request. Both methods throw NOT_FOUND or INVALID_ARG for ranges that do
 * not exist; `input` throws UNAVAILABLE without room.
 */
export interface SharedMemoryAccess {
  input(reference: SharedMemoryReference): PacedWork<SharedInput>;
  /** Asks for the named output to be written there. */
  output(name: string, reference: SharedMemoryReference): void;
}
