// The bytes that one connection has to send. Small frames are written into blocks. Large chunks are referred to and never copied.
// So a turn of the event loop goes out as one write, scattered where chunks are large. All connections of a thread share a pool of
// blocks. A block belongs to one connection until its socket has written it: `writeTo` writes, sees what the socket did, and only
// then gives the block back.

import type { Socket } from 'node:net';

import { LEAST_LARGE_BYTES, largeMemory } from './large-memory.js';
import { KEEPS_NOTHING } from './socket-reader.js';

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

  /** Nobody reads or writes the block any more. */
  give(block: Buffer): void {
    if (this.#blocks.length < MOST_KEPT_BLOCKS) this.#blocks.push(block);
  }
}

/** As much of a socket as output needs. */
export type OutputSocket = Pick<
  Socket,
  'write' | 'cork' | 'uncork' | 'connecting' | 'writableLength' | 'writableHighWaterMark'
>;

export class Output {
  /** Small bytes go to `block` from `end` on; bytes from `start` on are not among the chunks yet. */
  block: Buffer = EMPTY;
  end = 0;
  #start = 0;
  #chunks: Uint8Array[] = [];
  #chunkBytes = 0;
  /** Whether a chunk was referred to since the last write. */
  #refers = false;
  readonly #pool: BlockPool;

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

  /** Whether the block still holds the unsent byte at `at`, and has room for `bytes` more. */
  holds(at: number, bytes: number): boolean {
    return at >= this.#start && at < this.end && this.end + bytes <= this.block.length;
  }

  /** Sends text of one byte a character. */
  writeText(text: string): void {
    if (text.length > BLOCK_BYTES) {
      this.refer(Buffer.from(text, 'latin1'));
    } else {
      if (this.end + text.length > this.block.length) this.#nextBlock();
      this.end += this.block.write(text, this.end, 'latin1');
    }
  }

  /** Sends bytes that nobody writes to any more; few of them are copied. */
  writeBytes(bytes: Uint8Array): void {
    if (bytes.length > LARGEST_COPIED) {
      this.refer(bytes);
    } else {
      if (this.end + bytes.length > this.block.length) this.#nextBlock();
      this.block.set(bytes, this.end);
      this.end += bytes.length;
      if (bytes.buffer.byteLength >= LEAST_LARGE_BYTES) largeMemory.sent(bytes);
    }
  }

  /** Sends a chunk without copying it; nobody may write to it any more. */
  refer(chunk: Uint8Array): void {
    if (this.end > this.#start) this.#cut();
    this.#refers = true;
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
  }

  /**
   * Gives all unsent bytes to the socket, in one write of the system where it takes that. There must be at least one byte. Returns
   * whether the socket has passed everything on already.
   */
  writeTo(socket: OutputSocket): boolean {
    if (this.end > this.#start) this.#cut();
    const chunks = this.#chunks;
    const { block } = this;
    // Sockets of TLS keep new bytes for later, and so does any socket that is connecting or has a backlog. For such a socket a copy
    // is smaller than a whole block for it alone.
    const isCopied = socket.connecting || socket.writableLength > 0 || socket.writableHighWaterMark !== KEEPS_NOTHING;
    if (isCopied) copyViews(chunks, block);
    if (chunks.length === 1 && !this.#refers) socket.write(chunks[0]!);
    else writeAll(socket, chunks, this.#refers ? chunks.filter((chunk) => largeMemory.isLent(chunk)) : NO_CHUNKS);
    const isPassedOn = socket.writableLength === 0;
    // A socket that could not write all of a block still reads it: the block leaves the pool.
    this.#clear(isPassedOn || isCopied);
    return isPassedOn;
  }

  /** Drops all unsent bytes. */
  discard(): void {
    this.#clear(true);
  }

  #clear(blockIsFree: boolean): void {
    if (this.#chunks.length > 1) this.#chunks = [];
    else this.#chunks.pop();
    this.#chunkBytes = 0;
    this.#refers = false;
    if (blockIsFree && this.block !== EMPTY) this.#pool.give(this.block);
    this.block = EMPTY;
    this.#start = 0;
    this.end = 0;
  }

  /** Makes a chunk of the bytes in the block that are not among the chunks yet. */
  #cut(): void {
    const bytes = this.block.subarray(this.#start, this.end);
    this.#chunks.push(bytes);
    this.#chunkBytes += bytes.length;
    this.#start = this.end;
  }

  /** A full block never goes back to the pool: its chunks keep it. */
  #nextBlock(): void {
    if (this.end > this.#start) this.#cut();
    this.block = this.#pool.take();
    this.#start = 0;
    this.end = 0;
  }
}

const NO_CHUNKS: readonly Uint8Array[] = [];

/** Puts copies in the place of views of the block. */
function copyViews(chunks: Uint8Array[], block: Buffer): void {
  for (let i = 0; i < chunks.length; i++) {
    const chunk = chunks[i]!;
    if (chunk.buffer === block.buffer) chunks[i] = Buffer.from(chunk);
  }
}

/** The memory of `lent` chunks is used again when the socket has passed them on. */
function writeAll(socket: OutputSocket, chunks: readonly Uint8Array[], lent: readonly Uint8Array[]): void {
  const last = chunks.length - 1;
  if (last > 0) socket.cork();
  for (let i = 0; i < last; i++) socket.write(chunks[i]!);
  if (lent.length === 0) socket.write(chunks[last]!);
  else
    socket.write(chunks[last]!, (error) => {
      if (!(error instanceof Error)) largeMemory.sentAll(lent);
    });
  if (last > 0) socket.uncork();
}

/** A figure that changes when the other side takes something of what the socket was given. */
export function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return socket.bytesWritten - (handle?.writeQueueSize ?? 0);
}
