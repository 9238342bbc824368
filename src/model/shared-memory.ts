// Shared memory of clients as the protocols name it: regions that are registered, and tensors that lie in them. Sizes
// and offsets are 64-bit on the wire.

/** A region as it was registered. */
export interface SystemSharedMemoryRegion {
  readonly name: string;
  /** The POSIX name of the shared memory object. */
  readonly key: string;
  readonly offset: number | bigint;
  readonly byteSize: number | bigint;
}

/** Where a tensor lies. */
export interface SharedMemoryReference {
  readonly region: string;
  readonly offset: number | bigint;
  readonly byteSize: number | bigint;
}

/** What decoding a request needs to know of shared memory. Both throw NOT_FOUND or INVALID_ARG for ranges that are not there. */
export interface SharedMemoryAccess {
  /** The bytes of an input. */
  input(reference: SharedMemoryReference, datatype: string): Uint8Array;
  /** The output of that name is to be written there. */
  output(name: string, reference: SharedMemoryReference): void;
}
