// The bytes that a connection has to send. Small frames are written into blocks; large chunks are referred to and never
// copied, so that what a turn of the event loop produces goes out as one write, scattered where chunks are large. Blocks
// come from a pool that all connections of a thread share, and belong to a connection only while it has unsent bytes.

import type { Socket } from 'node:net';

import { largeMemory, LEAST_LARGE_BYTES } from './large-memory.js';

/** Holds some hundred small answers; larger header blocks go out as chunks of their own. */
export const BLOCK_BYTES = 32_768;
/** Up to this size bytes are copied behind the others: that costs less than one more piece of memory to write. */
const LARGEST_COPIED = 16 * 1024;
const MOST_KEPT_BLOCKS = 64;

const EMPTY = Buffer.alloc(0);

export class BlockPool {
  readonly #blocks: Buffer[] = [];

  take(): Buffer {
    return this.#blocks.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  give(block: Buffer): void {
    if (this.#blocks.length < MOST_KEPT_BLOCKS) this.#blocks.push(block);
  }
}

export class Output {
  /** Small bytes go to `block` from `end` on; those from `start` on are not among the chunks yet. */
  block: Buffer = EMPTY;
  end = 0;
  #start = 0;
  #chunks: Uint8Array[] = [];
  #chunkBytes = 0;
  /** Whether a chunk was referred to since the last write. */
  #refers = false;
  /** What was written, with such chunks, and the socket has not passed on. */
  #held: Uint8Array[] | undefined;
  readonly #pool: BlockPool;
  /** The socket keeps what it is given until later, as those of TLS do: it gets copies of blocks. */
  copiesBlocks = false;

  constructor(pool: BlockPool) {
    this.#pool = pool;
  }

  /** All that is unsent. */
  get bytes(): number {
    return this.#chunkBytes + this.end - this.#start;
  }

  /** Makes room for `bytes`, at most {@link BLOCK_BYTES}, in `block` from `end` on. */
  reserve(bytes: number): void {
    if (this.end + bytes > this.block.length) this.#nextBlock();
  }

  /** Whether what was written at `at` is unsent and in the block, and `bytes` more have room behind all that is. */
  holds(at: number, bytes: number): boolean {
    return at >= this.#start && at < this.end && this.end + bytes <= this.block.length;
  }

  /** Sends text of one byte a character. */
  writeText(text: string): void {
    if (text.length > BLOCK_BYTES) {
      this.refer(Buffer.from(text, 'latin1'));
    } else {
      this.reserve(text.length);
      this.end += this.block.write(text, this.end, 'latin1');
    }
  }

  /** Sends bytes that nobody writes to any more; few of them are copied. */
  writeBytes(bytes: Uint8Array): void {
    if (bytes.length > LARGEST_COPIED) {
      this.refer(bytes);
    } else {
      this.reserve(bytes.length);
      this.block.set(bytes, this.end);
      this.end += bytes.length;
      largeMemory.sent(bytes);
    }
  }

  /** Sends a chunk without copying it; nobody may write to it any more. */
  refer(chunk: Uint8Array): void {
    this.#cut();
    this.#refers = true;
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
  }

  /** Everything unsent, in order. It counts as unsent until {@link sent}. */
  take(): readonly Uint8Array[] {
    this.#cut();
    return this.#chunks;
  }

  /** What was taken is sent. `isPassedOn`: nobody reads it any more, so that its memory may be written again. */
  sent(isPassedOn: boolean): void {
    if (this.#refers) this.#release(isPassedOn);
    else if (isPassedOn) this.passedOn();
    if (this.#chunks.length > 1) this.#chunks = [];
    else this.#chunks.length = 0;
    this.#chunkBytes = 0;
    if ((isPassedOn || this.copiesBlocks) && this.block !== EMPTY) this.#pool.give(this.block);
    this.block = EMPTY;
    this.#start = 0;
    this.end = 0;
  }

  /** The socket has passed on all that it was given. */
  passedOn(): void {
    if (this.#held === undefined) return;
    largeMemory.sentAll(this.#held);
    this.#held = undefined;
  }

  #release(isPassedOn: boolean): void {
    this.#refers = false;
    if (isPassedOn) {
      this.passedOn();
      largeMemory.sentAll(this.#chunks);
    } else {
      const large = this.#chunks.filter(({ buffer }) => buffer.byteLength >= LEAST_LARGE_BYTES);
      this.#held = this.#held === undefined ? large : this.#held.concat(large);
    }
  }

  #cut(): void {
    if (this.end === this.#start) return;
    const bytes = this.block.subarray(this.#start, this.end);
    const chunk = this.copiesBlocks ? Buffer.from(bytes) : bytes;
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
    this.#start = this.end;
  }

  #nextBlock(): void {
    this.#cut();
    this.block = this.#pool.take();
    this.#start = 0;
    this.end = 0;
  }
}

/** In one write of the system's where it takes that. Whether the socket has passed everything on already. */
export function writeAll(socket: Socket, chunks: readonly Uint8Array[]): boolean {
  if (chunks.length === 1) socket.write(chunks[0]!);
  else {
    socket.cork();
    for (const chunk of chunks) socket.write(chunk);
    socket.uncork();
  }
  return socket.writableLength === 0;
}
