// Puts the fragments of a header block together: one HEADERS frame, and CONTINUATION frames until one says that it is the last
// (RFC 9113, section 4.3). Blocks of one frame, nearly all, are never copied.

const NO_BYTES = Buffer.alloc(0);

/** What a HEADERS frame says besides its fields. */
export interface HeadersFlags {
  readonly endsStream: boolean;
  /** Its priority makes the stream its own parent. */
  readonly dependsOnItself: boolean;
}

const NO_FLAGS: HeadersFlags = { endsStream: false, dependsOnItself: false };

export class HeaderBlock {
  /** Of the block that is not complete; 0 when there is none. */
  streamId = 0;
  flags = NO_FLAGS;
  #collected: Buffer = NO_BYTES;
  /** Bytes that were collected. */
  length = 0;

  begin(streamId: number, flags: HeadersFlags): void {
    this.streamId = streamId;
    this.flags = flags;
    this.length = 0;
  }

  /** The fragment is `bytes[start…end)`. Room is doubled: a block of many fragments costs no more than its bytes. */
  append(bytes: Buffer, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.#collected.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#collected.length));
      this.#collected.copy(larger, 0, 0, this.length);
      this.#collected = larger;
    }
    bytes.copy(this.#collected, this.length, start, end);
    this.length = length;
  }

  /** The whole block; it is collected no longer. */
  finish(): Buffer {
    const block = this.#collected.subarray(0, this.length);
    this.streamId = 0;
    this.#collected = NO_BYTES;
    this.length = 0;
    return block;
  }
}
