// gRPC's framing of messages in the bytes of a call: one flag byte, a 32-bit length, the message. The reader takes the
// bytes as they come, gives out whole messages, and never holds much more memory than it was sent. Who can receive bytes
// into given memory asks where the rest of a large message belongs, so that it is not copied there.

import { ALIGNED_BYTES, type Allocate, alignedMemory, newMemory } from '../../model/exchange.js';
import { GRPC_STATUS, type GrpcStatus } from './grpc-status.js';

export const MESSAGE_PREFIX_BYTES = 5;

/**
 * Frames begin with as much memory as their length asks for, up to this; the rest follows as bytes arrive. What has come
 * is copied when there is more, so that after so many bytes the length is believed: memory takes room when it is written.
 */
const FIRST_ALLOCATION_BYTES = (1 << 20) + 16_384; // a tensor of 1 MiB, and what a message has beside it
const GROWTH = 32;
const BELIEVED_FROM = 8 << 20;
/** Behind so many chunks small ones are put together: each has a cost of its own. */
const MOST_SINGLE_CHUNKS = 32;
const JOINED_BYTES = 16_384;
/** For less, a place of its own costs more than copying. */
const SMALLEST_TARGET_BYTES = 16_384;

/** Why the bytes of a call are no messages that can be accepted. */
export interface FrameFailure {
  readonly status: GrpcStatus;
  readonly message: string;
}

/** A copy of the message when `chunk` is exactly one uncompressed frame. */
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

/** A message as it came. */
export interface ReceivedMessage {
  /** Possibly a view of a chunk. */
  readonly bytes: Buffer;
  /** By the encoding of the call. */
  readonly compressed: boolean;
}

/** Where large messages get their memory from, and how they lie in it. */
export interface MessageMemory {
  readonly allocate: Allocate;
  /** Memory that is there already: none is taken for it. */
  readonly spare: (bytes: number) => Buffer | undefined;
  /** Where in the message its tensors begin, as far as its beginning tells. */
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
  /** Of the message, where memory is laid out by that. */
  #tensorsAt = 0;
  #length = 0;
  #filled = 0;
  /** Somebody else writes to the rest of the message. */
  #isFilling = false;
  /** Given and not read yet, from the offset on. */
  #chunks: Buffer[] = [];
  #offset = 0;
  /** What is left of them. */
  #chunkBytes = 0;
  /** Small chunks, of which `#joinedEnd` bytes are the last of the chunks. */
  #joined: Buffer | undefined;
  #joinedEnd = 0;

  /**
   * `encoding` is the call's grpc-encoding header. `inflates`: whoever reads takes messages compressed by it; else
   * they are refused. `memory`: default any.
   */
  constructor(maxMessageSize: number, encoding: string | undefined, inflates = false, memory?: MessageMemory) {
    this.#maxMessageSize = maxMessageSize;
    this.#encoding = encoding;
    this.#inflates = inflates;
    this.#memory = memory;
  }

  /** Set once the bytes cannot be accepted; nothing is read after that. */
  get failure(): FrameFailure | undefined {
    return this.#failure;
  }

  /** True between messages: nothing of the next one has arrived. */
  get idle(): boolean {
    return this.#prefixFilled === 0 && this.#chunks.length === 0;
  }

  /** The length of the message of which something has arrived; 0 between messages. */
  get expected(): number {
    return this.#prefixFilled === MESSAGE_PREFIX_BYTES && this.#failure === undefined ? this.#length : 0;
  }

  /** What has come and was not read as messages, but for what lies in a {@link target}. */
  get heldBytes(): number {
    return this.#chunkBytes + this.#messageBytes;
  }

  /** The same once the message that has begun is here; Infinity when not even its length is. */
  get wholeBytes(): number {
    if (this.#prefixFilled < MESSAGE_PREFIX_BYTES) return this.#chunkBytes === 0 ? Infinity : this.#chunkBytes;
    return Math.max(this.heldBytes, this.expected);
  }

  get #messageBytes(): number {
    return this.#message === undefined ? 0 : this.#filled;
  }

  /** Lets go of what is not read. */
  close(): void {
    this.#chunks = [];
    this.#chunkBytes = this.#prefixFilled = 0;
    this.#message = this.#joined = undefined;
  }

  /** Takes the next bytes, to be read by {@link next}. */
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
   * Where the next bytes belong when they are the rest of a large message, or much of it; {@link filled} follows, and nothing
   * is added before. Undefined when they are to be added as they come, or when there is no memory: then this has failed.
   */
  target(): Buffer | undefined {
    if (this.#isFilling || this.#failure !== undefined || this.#chunks.length > 0) return undefined;
    if (this.#prefixFilled < MESSAGE_PREFIX_BYTES || this.#length - this.#filled < SMALLEST_TARGET_BYTES)
      return undefined;
    // How it is laid out, its beginning tells.
    if (this.#memory !== undefined && this.#message === undefined) return undefined;
    if (!this.#makeRoom(1)) return undefined;
    this.#isFilling = true;
    return this.#message!.subarray(this.#filled);
  }

  /** The target is full. */
  filled(): void {
    this.#isFilling = false;
    this.#filled = this.#message!.length;
  }

  /** The next whole message. */
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

  /** Reads on from the offset, to the end of the chunk or of a message. */
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

  // A length is only a claim: memory is taken in steps, each a multiple of what has really arrived.
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
          ? this.#allocate(Math.min(this.#length, Math.max(needed, FIRST_ALLOCATION_BYTES)))
          : alignedMemory(this.#length, this.#tensorsAt, () => spare);
    } else if (needed > this.#message.length) {
      const wanted = needed > BELIEVED_FROM ? this.#length : Math.max(needed, this.#message.length * GROWTH);
      const grown = this.#allocate(Math.min(this.#length, wanted));
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
