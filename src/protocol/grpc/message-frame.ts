// gRPC's framing of messages in the bytes of a call: one flag byte, a 32-bit length, the message. The reader takes the bytes as
// they come, gives out whole messages, and never holds much more memory than it was sent. A caller that can receive bytes into
// given memory asks the reader for the place of a large message's rest. That saves a copy.

import { ALIGNED_BYTES, type Allocate, alignedMemory, newMemory } from '../../model/exchange.js';
import { GRPC_STATUS, type GrpcStatus } from './grpc-status.js';

export const MESSAGE_PREFIX_BYTES = 5;

/**
 * A message has memory for at most this many times the bytes that have come. The system gives pages as they are written, but V8
 * collects its heap more often the more memory was taken, and a mere claim must not cause that. Growing copies the bytes so far. A
 * usual frame of HTTP/2 is enough for a tensor of 1 MiB, and what a message has beside it.
 */
const GROWTH = 66;
/** The same while less than a usual frame has come: so little costs its sender nothing. */
const GROWTH_OF_LITTLE = 4;
const LITTLE_BYTES = 8192;
/** So much is believed of any length. */
const LEAST_BYTES = 1024;
/** Beyond this many bytes the reader trusts the length. */
const BELIEVED_FROM = 4 << 20;
/** Beyond this many chunks, small ones are joined, because each chunk has a cost of its own. */
const MOST_SINGLE_CHUNKS = 32;
const JOINED_BYTES = 16_384;
/** For fewer bytes, a target of their own costs more than copying. */
const SMALLEST_TARGET_BYTES = 16_384;

/** Why a call's messages are refused. */
export interface FrameFailure {
  readonly status: GrpcStatus;
  readonly message: string;
}

/** Returns a copy of the message when `chunk` is exactly one uncompressed frame. */
export function copyWholeMessage(chunk: Buffer, maxMessageSize: number): Buffer | undefined {
  if (chunk.length < MESSAGE_PREFIX_BYTES || chunk[0] !== 0) return undefined;
  const length = chunk.length - MESSAGE_PREFIX_BYTES;
  if (chunk.readUInt32BE(1) !== length || length > maxMessageSize) return undefined;
  const message = Buffer.allocUnsafe(length);
  chunk.copy(message, 0, MESSAGE_PREFIX_BYTES);
  return message;
}

/** A message with its prefix. */
export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(MESSAGE_PREFIX_BYTES + message.byteLength);
  frame[0] = 0;
  frame.writeUInt32BE(message.byteLength, 1);
  frame.set(message, MESSAGE_PREFIX_BYTES);
  return frame;
}

/** Writes the prefix of a message in pieces, of which the first begins with room for it. Returns the message's length. */
export function writePrefix(pieces: readonly Uint8Array[]): number {
  const length = pieces.reduce((sum, { byteLength }) => sum + byteLength, -MESSAGE_PREFIX_BYTES);
  const head = pieces[0] as Buffer;
  head[0] = 0;
  head.writeUInt32BE(length, 1);
  return length;
}

/** A message as it arrived. */
export interface ReceivedMessage {
  /** Possibly a view of a chunk. */
  readonly bytes: Buffer;
  /** Whether it is compressed with the call's encoding. */
  readonly compressed: boolean;
}

/** Provides the memory of large messages, and decides how they lie in it. */
export interface MessageMemory {
  readonly allocate: Allocate;
  /** Returns memory that already exists. It never allocates. */
  readonly spare: (bytes: number) => Buffer | undefined;
  /** Where the message's tensors begin, if its beginning shows that. */
  readonly tensorsAt: (beginning: Buffer) => number;
}

/** Cuts the bytes of one direction of a call into messages. */
export class MessageFrameReader {
  readonly #maxMessageSize: number;
  readonly #encoding: string | undefined;
  readonly #inflates: boolean;
  readonly #memory: MessageMemory | undefined;
  #failure: FrameFailure | undefined;
  #prefix = Buffer.alloc(MESSAGE_PREFIX_BYTES);
  #prefixFilled = 0;
  #message: Buffer | undefined;
  /** Where the message's tensors begin, if memory is laid out by that. */
  #tensorsAt = 0;
  #length = 0;
  #filled = 0;
  /** The caller is writing to the rest of the message. */
  #isFilling = false;
  /** Chunks that were added and not read yet. In the first, the unread bytes begin at the offset. */
  #chunks: Buffer[] = [];
  #offset = 0;
  /** Number of unread bytes in the chunks. */
  #chunkBytes = 0;
  /** Joined small chunks. Its bytes before `#joinedEnd` are the last of the chunks. */
  #joined: Buffer | undefined;
  #joinedEnd = 0;

  /**
   * `encoding` is the call's grpc-encoding header. `inflates`: whether the caller takes compressed messages; else they are
   * refused. `memory`: default any.
   */
  constructor(maxMessageSize: number, encoding: string | undefined, inflates = false, memory?: MessageMemory) {
    this.#maxMessageSize = maxMessageSize;
    this.#encoding = encoding;
    this.#inflates = inflates;
    this.#memory = memory;
  }

  /** Set once the bytes are refused. Nothing is read after that. */
  get failure(): FrameFailure | undefined {
    return this.#failure;
  }

  /** True between messages: nothing of the next one has arrived. */
  get idle(): boolean {
    return this.#prefixFilled === 0 && this.#chunks.length === 0;
  }

  /** The length of the message that is arriving; 0 between messages. */
  get expected(): number {
    return this.#prefixFilled === MESSAGE_PREFIX_BYTES && this.#failure === undefined ? this.#length : 0;
  }

  /** Bytes that have come and are not yet part of a read message. Bytes in a {@link target} do not count. */
  get heldBytes(): number {
    return this.#chunkBytes + this.#messageBytes;
  }

  /** The value of {@link heldBytes} once the current message is complete; Infinity when its length is not known yet. */
  get wholeBytes(): number {
    if (this.#prefixFilled < MESSAGE_PREFIX_BYTES) return this.#chunkBytes === 0 ? Infinity : this.#chunkBytes;
    return Math.max(this.heldBytes, this.expected);
  }

  get #messageBytes(): number {
    return this.#message === undefined ? 0 : this.#filled;
  }

  /** Drops unread bytes. */
  close(): void {
    this.#chunks = [];
    this.#chunkBytes = this.#prefixFilled = 0;
    this.#message = this.#joined = undefined;
  }

  /** Takes the next bytes. {@link next} reads them. */
  add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunkBytes += chunk.length;
    if (this.#chunks.length < MOST_SINGLE_CHUNKS || chunk.length > JOINED_BYTES / 2) {
      this.#joined = undefined;
      this.#chunks.push(chunk);
    } else this.#join(chunk);
  }

  #join(chunk: Buffer): void {
    const end = this.#joinedEnd + chunk.length;
    if (this.#joined === undefined || end > JOINED_BYTES) {
      this.#joined = Buffer.allocUnsafeSlow(JOINED_BYTES);
      this.#joined.set(chunk);
      this.#joinedEnd = chunk.length;
      this.#chunks.push(this.#joined.subarray(0, chunk.length));
      return;
    }
    this.#joined.set(chunk, this.#joinedEnd);
    this.#joinedEnd = end;
    this.#chunks[this.#chunks.length - 1] = this.#joined.subarray(0, end);
  }

  /**
   * The place for the next bytes when they are the rest of a large message, or much of it. {@link filled} follows, and nothing is
   * added before. Undefined when the bytes should be added as they come, and also without memory: then the reader has failed.
   */
  target(): Buffer | undefined {
    if (this.#isFilling || this.#failure !== undefined || this.#chunks.length > 0) return undefined;
    if (this.#prefixFilled < MESSAGE_PREFIX_BYTES || this.#length - this.#filled < SMALLEST_TARGET_BYTES)
      return undefined;
    // The message's beginning decides how it is laid out.
    if (this.#memory !== undefined && this.#message === undefined) return undefined;
    if (!this.#makeRoom(1)) return undefined;
    const target = this.#message!.subarray(this.#filled);
    // There is more memory when more has come.
    if (target.length < SMALLEST_TARGET_BYTES) return undefined;
    this.#isFilling = true;
    return target;
  }

  /** The target is full. */
  filled(): void {
    this.#isFilling = false;
    this.#filled = this.#message!.length;
  }

  /** Returns the next whole message. */
  next(): ReceivedMessage | undefined {
    if (this.#message !== undefined && this.#filled === this.#length) return this.#received(this.#complete());
    while (this.#chunks.length > 0 && this.#failure === undefined) {
      const message = this.#read(this.#chunks[0]!);
      if (this.#offset === this.#chunks[0]!.length) {
        this.#chunks.shift();
        this.#offset = 0;
      }
      if (message !== undefined) return this.#received(message);
    }
    return undefined;
  }

  /** Reads from the offset to the end of the chunk or of a message. */
  #read(chunk: Buffer): Buffer | undefined {
    if (this.#prefixFilled < MESSAGE_PREFIX_BYTES) {
      this.#takePrefix(chunk);
      if (this.#prefixFilled < MESSAGE_PREFIX_BYTES || !this.#readPrefix()) return undefined;
    }
    const offset = this.#offset;
    const missing = this.#length - this.#filled;
    const taken = Math.min(missing, chunk.length - offset);
    this.#offset = offset + taken;
    this.#chunkBytes -= taken;
    if (this.#message === undefined && taken === missing) {
      this.#prefixFilled = 0;
      return chunk.subarray(offset, offset + taken);
    }
    if (taken > 0 && !this.#append(chunk, offset, taken)) return undefined;
    return taken === missing ? this.#complete() : undefined;
  }

  #takePrefix(chunk: Buffer): void {
    const taken = Math.min(MESSAGE_PREFIX_BYTES - this.#prefixFilled, chunk.length - this.#offset);
    chunk.copy(this.#prefix, this.#prefixFilled, this.#offset, this.#offset + taken);
    this.#prefixFilled += taken;
    this.#offset += taken;
    this.#chunkBytes -= taken;
  }

  #readPrefix(): boolean {
    this.#length = this.#prefix.readUInt32BE(1);
    this.#filled = 0;
    this.#failure = this.#prefixFailure(this.#prefix[0]!);
    return this.#failure === undefined;
  }

  #isEncoded(): boolean {
    return this.#encoding !== undefined && this.#encoding !== 'identity';
  }

  #prefixFailure(flag: number): FrameFailure | undefined {
    if (flag > 1 || (flag === 1 && this.#encoding === undefined)) {
      return { status: GRPC_STATUS.INTERNAL, message: 'Unable to parse request' };
    }
    if (flag === 1 && this.#isEncoded() && !this.#inflates) {
      return {
        status: GRPC_STATUS.UNIMPLEMENTED,
        message: `messages compressed with '${this.#encoding}' are not understood, expected identity`,
      };
    }
    if (this.#length > this.#maxMessageSize) {
      return {
        status: GRPC_STATUS.RESOURCE_EXHAUSTED,
        message: `Received message larger than max (${this.#length} vs. ${this.#maxMessageSize})`,
      };
    }
    return undefined;
  }

  #received(message: Buffer): ReceivedMessage {
    return { bytes: message, compressed: this.#prefix[0] === 1 && this.#isEncoded() };
  }

  #append(chunk: Buffer, offset: number, count: number): boolean {
    if (this.#message === undefined) this.#tensorsAt = this.#findTensors(chunk.subarray(offset, offset + count));
    if (!this.#makeRoom(count)) return false;
    chunk.copy(this.#message!, this.#filled, offset, offset + count);
    this.#filled += count;
    return true;
  }

  #makeRoom(count: number): boolean {
    try {
      this.#reserve(this.#filled + count);
      return true;
    } catch {
      this.#failure = {
        status: GRPC_STATUS.RESOURCE_EXHAUSTED,
        message: `there is no memory for a message of ${this.#length} bytes`,
      };
      return false;
    }
  }

  #findTensors(beginning: Buffer): number {
    return this.#memory === undefined || this.#prefix[0] !== 0 ? 0 : this.#memory.tensorsAt(beginning);
  }

  #reserve(needed: number): void {
    if (this.#message === undefined) {
      const spare = this.#memory?.spare(this.#length + ALIGNED_BYTES);
      this.#message =
        spare === undefined
          ? this.#allocate(memoryFor(this.#length, needed))
          : alignedMemory(this.#length, this.#tensorsAt, () => spare);
    } else if (needed > this.#message.length) {
      const grown = this.#allocate(memoryFor(this.#length, needed));
      this.#message.copy(grown, 0, 0, this.#filled);
      this.#message = grown;
    }
  }

  #allocate(bytes: number): Buffer {
    return alignedMemory(bytes, this.#tensorsAt, this.#memory?.allocate ?? newMemory);
  }

  #complete(): Buffer {
    const message = this.#message!;
    this.#message = undefined;
    this.#prefixFilled = 0;
    return message;
  }
}

/** The sender may lie about the length. */
function memoryFor(length: number, needed: number): number {
  const growth = needed < LITTLE_BYTES ? GROWTH_OF_LITTLE : GROWTH;
  const believed = Math.max(LEAST_BYTES, growth * needed);
  if (length <= believed || needed > BELIEVED_FROM) return length;
  // No more than will be copied in a few milliseconds when it is full.
  return Math.min(believed, BELIEVED_FROM);
}
