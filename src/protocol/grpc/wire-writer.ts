// Writes one gRPC frame: the 5-byte prefix and a protobuf message. Small fields go into one buffer. Large tensors become chunks
// of their own, passed on without a copy. The caller first says how many bytes it may need at most, so the writing methods check
// nothing.

import { invalidArg } from '../../errors.js';
import { MESSAGE_PREFIX_BYTES } from './message-frame.js';

/** Largest message of gRPC in Triton, its prefix not counted. */
const MAX_MESSAGE_BYTES = 2_147_483_647;

// Fields up to this size are cheaper to copy than to send as a chunk of their own.
const INLINE_BYTES = 8192;
// Frames of small answers are cut from blocks of this size. A frame that waits for a slow reader keeps its block alive.
const BLOCK_BYTES = 32_768;

/** Most bytes that a varint takes, with its tag. */
export const VARINT_BOUND = 11;

/** Most bytes that a string or byte field takes besides its content. */
export const LENGTH_BOUND = 6;

/** Most bytes that a string field takes. */
export function stringBound(text: string): number {
  return LENGTH_BOUND + 3 * text.length;
}

/** Most bytes that {@link WireWriter.rawField} adds to the buffer. */
export function rawBound(bytes: Uint8Array): number {
  return LENGTH_BOUND + (bytes.byteLength > INLINE_BYTES ? 0 : bytes.byteLength);
}

/** Bytes that a varint of up to 32 bits takes. */
function varintLength(value: number): number {
  let length = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) length++;
  return length;
}

const TWO_32 = 2 ** 32;
const NOTHING = Buffer.alloc(0);

let block = NOTHING;
let blockUsed = 0;

/** Writes one frame at a time: `begin`, any fields, `finish`. */
export class WireWriter {
  bytes: Buffer = NOTHING;
  position = 0;
  #what = 'Response';
  #frameStart = 0;
  #chunkStart = 0;
  #chunks: Uint8Array[] = [];
  #bytesBefore = 0;

  /**
   * Begins a frame. Its fields, without large tensors, take at most `bound` bytes. `what` names the message if it turns out too
   * large.
   */
  begin(bound: number, what: 'Request' | 'Response' = 'Response'): void {
    this.#what = what;
    const room = bound + MESSAGE_PREFIX_BYTES;
    if (room > BLOCK_BYTES / 4) {
      this.bytes = Buffer.allocUnsafeSlow(room);
      this.position = 0;
    } else {
      if (room > block.length - blockUsed) {
        block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
        blockUsed = 0;
      }
      this.bytes = block;
      this.position = blockUsed;
    }
    this.#frameStart = this.position;
    this.#chunkStart = this.position;
    this.#chunks = [];
    this.#bytesBefore = 0;
    this.position += MESSAGE_PREFIX_BYTES;
  }

  /** Begins a frame whose message is a single field. That field is a message, whose fields follow. See {@link finishWrapped}. */
  beginWrapped(bound: number): void {
    this.begin(bound + LENGTH_BOUND);
    this.position += LENGTH_BOUND;
  }

  /** Writes tag and length of the single field in front of its content, and completes the frame. `tag` takes one byte. */
  finishWrapped(tag: number): Uint8Array[] {
    const end = this.position;
    const length = this.#bytesBefore + (end - this.#chunkStart) - MESSAGE_PREFIX_BYTES - LENGTH_BOUND;
    // Tag and length take as many bytes as they need. The frame begins behind the unused ones.
    const unused = LENGTH_BOUND - 1 - varintLength(length);
    this.#frameStart += unused;
    this.position = this.#frameStart + MESSAGE_PREFIX_BYTES;
    this.byte(tag);
    this.uint32(length);
    this.position = end;
    if (this.#chunks.length === 0) this.#chunkStart += unused;
    else {
      this.#chunks[0] = this.#chunks[0]!.subarray(unused);
      this.#bytesBefore -= unused;
    }
    return this.finish();
  }

  /** Completes the prefix and gives the frame's chunks. Throws INVALID_ARG when the message is too large for gRPC. */
  finish(): Uint8Array[] {
    const { bytes, position } = this;
    const length = this.#bytesBefore + (position - this.#chunkStart) - MESSAGE_PREFIX_BYTES;
    if (length > MAX_MESSAGE_BYTES) {
      throw invalidArg(
        `${this.#what} has byte size ${length} which exceeds gRPC's byte size limit ${MAX_MESSAGE_BYTES}.`,
      );
    }
    bytes[this.#frameStart] = 0;
    bytes.writeUInt32BE(length, this.#frameStart + 1);
    if (position > this.#chunkStart) this.#chunks.push(bytes.subarray(this.#chunkStart, position));
    if (bytes === block) blockUsed = position;
    const chunks = this.#chunks;
    this.bytes = NOTHING;
    this.#chunks = [];
    return chunks;
  }

  uint32(value: number): void {
    const { bytes } = this;
    while (value > 0x7f) {
      bytes[this.position++] = (value & 0x7f) | 0x80;
      value >>>= 7;
    }
    bytes[this.position++] = value;
  }

  /** Writes an int64 or uint64 given as an integer. */
  int64(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value < TWO_32) {
      this.uint32(value);
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest > 0x7fn) {
      this.bytes[this.position++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.bytes[this.position++] = Number(rest);
  }

  double(value: number): void {
    this.position = this.bytes.writeDoubleLE(value, this.position);
  }

  byte(value: number): void {
    this.bytes[this.position++] = value;
  }

  /** A string field, also when it is empty. `tag` takes one byte. */
  string(tag: number, text: string): void {
    const { bytes } = this;
    bytes[this.position++] = tag;
    const { length } = text;
    // Up to 42 units need at most 126 bytes, so that the length takes one byte.
    if (length > 42) {
      this.uint32(Buffer.byteLength(text));
      this.position += bytes.write(text, this.position, 'utf8');
      return;
    }
    const start = this.position + 1;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) {
        const written = bytes.write(text, start, 'utf8');
        bytes[start - 1] = written;
        this.position = start + written;
        return;
      }
      bytes[start + i] = unit;
    }
    bytes[start - 1] = length;
    this.position = start + length;
  }

  /** Writes a bytes field that holds a tensor. */
  rawField(tag: number, raw: Uint8Array): void {
    const { byteLength } = raw;
    this.bytes[this.position++] = tag;
    this.uint32(byteLength);
    if (byteLength <= INLINE_BYTES) {
      this.bytes.set(raw, this.position);
      this.position += byteLength;
      return;
    }
    this.#chunks.push(this.bytes.subarray(this.#chunkStart, this.position), raw);
    this.#bytesBefore += this.position - this.#chunkStart + byteLength;
    this.#chunkStart = this.position;
  }

  /** Begins a nested message; gives its start to {@link closeMessage}. */
  openMessage(tag: number): number {
    this.bytes[this.position++] = tag;
    return ++this.position;
  }

  /** Writes the length of the nested message before it. */
  closeMessage(start: number): void {
    const { bytes } = this;
    const length = this.position - start;
    if (length <= 0x7f) {
      bytes[start - 1] = length;
      return;
    }
    const extra = varintLength(length) - 1;
    bytes.copyWithin(start + extra, start, this.position);
    this.position = start - 1;
    this.uint32(length);
    this.position += length;
  }
}
