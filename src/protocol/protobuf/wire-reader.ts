// Reads the protobuf wire format in place: no object per field, no copy, and no trust in lengths that the bytes do not bear out.
// The caller knows a message's fields and drives the reader. Malformed bytes throw `Unable to parse <what>`, in Triton's words.

import { isUtf8 } from 'node:buffer';

import { TritonError } from '../../errors.js';
import { beyondLimit } from '../../model/request-limits.js';
import { FIXED32, FIXED64, GROUP_END, GROUP_START, LENGTH_DELIMITED, VARINT } from './wire-types.js';

const MAX_VARINT_BYTES = 10;
const MAX_GROUP_DEPTH = 100;
const TWO_32 = 2 ** 32;

// Names repeat from request to request. Short ASCII names are looked up here by their bytes. That costs less than making a
// string, and returns strings whose hash is already known.
const KNOWN_NAMES: string[] = Array.from({ length: 512 }, () => '');
const MAX_KNOWN_LENGTH = 40;

const NOTHING = Buffer.alloc(0);

/** Limits on parts of a message that cost more than their bytes. */
export interface WireLimits {
  /** Fields at all levels. */
  readonly fields: number;
  /** Bytes of one name. */
  readonly nameBytes: number;
  /** Bytes of all texts other than names. */
  readonly textBytes: number;
}

const NO_LIMITS: WireLimits = { fields: Infinity, nameBytes: Infinity, textBytes: Infinity };

/** A cursor over one message. Use it for one message at a time; `start` begins the next one. */
export class WireReader {
  bytes: Buffer = NOTHING;
  position = 0;
  /** End of the innermost message that is being read. */
  limit = 0;
  /** Halves of the number that {@link varint} read; both signed. */
  low = 0;
  high = 0;
  readonly #what: string;
  readonly #limits: WireLimits;
  #fields = 0;
  #textBytes = 0;

  /** `what` appears in errors: 'request' or 'response'. */
  constructor(what: string, limits: WireLimits = NO_LIMITS) {
    this.#what = what;
    this.#limits = limits;
  }

  start(bytes: Uint8Array): void {
    this.bytes = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = 0;
    this.limit = bytes.byteLength;
    this.#fields = 0;
    this.#textBytes = 0;
  }

  /** Drops the message, so that it can be collected. */
  release(): void {
    this.bytes = NOTHING;
    this.position = 0;
    this.limit = 0;
  }

  malformed(): never {
    throw new TritonError('INTERNAL', `Unable to parse ${this.#what}`);
  }

  /** The next tag: field number * 8 + wire type. Throws INVALID_ARG when the message has too many tags. */
  tag(): number {
    if (++this.#fields > this.#limits.fields) throw beyondLimit('protobuf fields', this.#limits.fields);
    const { position } = this;
    if (position < this.limit) {
      const byte = this.bytes[position]!;
      if (byte < 0x80 && byte > 7) {
        this.position = position + 1;
        return byte;
      }
    }
    this.varint();
    const tag = this.low >>> 0;
    if (this.high !== 0 || tag < 8) this.malformed();
    return tag;
  }

  /** Reads any varint into `low` and `high`. Bits beyond 64 are dropped, as protobuf does. */
  varint(): void {
    const { bytes, limit } = this;
    let { position } = this;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 7 * MAX_VARINT_BYTES; shift += 7) {
      if (position >= limit) this.malformed();
      const byte = bytes[position++]!;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) {
        this.low = low;
        this.high = high;
        this.position = position;
        return;
      }
    }
    this.malformed();
  }

  bool(): boolean {
    this.varint();
    return (this.low | this.high) !== 0;
  }

  /** A varint as int64, rounded to a double beyond 2^53. */
  int64AsNumber(): number {
    const { position } = this;
    if (position < this.limit) {
      const byte = this.bytes[position]!;
      if (byte < 0x80) {
        this.position = position + 1;
        return byte;
      }
    }
    this.varint();
    return this.high * TWO_32 + (this.low >>> 0);
  }

  /** The exact value that {@link int64AsNumber} read, if it is beyond 2^53. */
  lastInt64(): bigint {
    return (BigInt(this.high) << 32n) | BigInt(this.low >>> 0);
  }

  /** A varint as int64; a bigint only where a number would not be exact. */
  int64(): number | bigint {
    this.varint();
    const value = this.high * TWO_32 + (this.low >>> 0);
    return Number.isSafeInteger(value) ? value : (BigInt(this.high) << 32n) | BigInt(this.low >>> 0);
  }

  /** A varint as uint64; a bigint only where a number would not be exact. */
  uint64(): number | bigint {
    this.varint();
    const high = this.high >>> 0;
    const value = high * TWO_32 + (this.low >>> 0);
    return Number.isSafeInteger(value) ? value : (BigInt(high) << 32n) | BigInt(this.low >>> 0);
  }

  double(): number {
    const start = this.position;
    this.advance(8);
    return this.bytes.readDoubleLE(start);
  }

  float(): number {
    const start = this.position;
    this.advance(4);
    return this.bytes.readFloatLE(start);
  }

  /** A view of the bytes of a field. */
  byteString(): Buffer {
    const length = this.length();
    const start = this.position;
    this.position = start + length;
    return this.bytes.subarray(start, this.position);
  }

  /** The length of a length-delimited field, which must lie within the message. */
  length(): number {
    const { position } = this;
    let length: number;
    if (position < this.limit && this.bytes[position]! < 0x80) {
      length = this.bytes[position]!;
      this.position = position + 1;
    } else {
      this.varint();
      if (this.high !== 0) this.malformed();
      length = this.low >>> 0;
    }
    if (length > this.limit - this.position) this.malformed();
    return length;
  }

  advance(count: number): void {
    if (count > this.limit - this.position) this.malformed();
    this.position += count;
  }

  /** Enters a nested message; gives `limit` back to {@link leave}. */
  enter(): number {
    const outer = this.limit;
    const length = this.length();
    this.limit = this.position + length;
    return outer;
  }

  leave(outer: number): void {
    this.limit = outer;
  }

  /** A string that probably occurred before. Throws INVALID_ARG when it is too long. */
  name(): string {
    const length = this.#nameLength();
    const start = this.position;
    const end = start + length;
    this.position = end;
    if (length > MAX_KNOWN_LENGTH) return this.#text(start, end);
    const { bytes } = this;
    let hash = length;
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!;
      if (byte > 0x7f) return this.#text(start, end);
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
    const slot = (hash ^ (hash >>> 9)) & (KNOWN_NAMES.length - 1);
    const known = KNOWN_NAMES[slot]!;
    if (known.length === length) {
      let i = 0;
      while (i < length && known.charCodeAt(i) === bytes[start + i]) i++;
      if (i === length) return known;
    }
    return (KNOWN_NAMES[slot] = bytes.toString('latin1', start, end));
  }

  /** A string that may never have occurred before. Throws INVALID_ARG when it is too long. */
  string(): string {
    return this.#take(this.#nameLength());
  }

  /** A string other than a name. Throws INVALID_ARG when all such strings of the message together are too long. */
  text(): string {
    const length = this.length();
    this.#textBytes += length;
    if (this.#textBytes > this.#limits.textBytes) throw beyondLimit('bytes of parameters', this.#limits.textBytes);
    return this.#take(length);
  }

  #nameLength(): number {
    const length = this.length();
    if (length > this.#limits.nameBytes) throw beyondLimit('bytes in a name', this.#limits.nameBytes);
    return length;
  }

  #take(length: number): string {
    const start = this.position;
    this.position = start + length;
    return length === 0 ? '' : this.#text(start, this.position);
  }

  // Decoding replaces malformed UTF-8 by U+FFFD. Valid text may contain U+FFFD too, so only texts with it are checked again.
  #text(start: number, end: number): string {
    const text = this.bytes.toString('utf8', start, end);
    if (text.includes('\ufffd') && !isUtf8(this.bytes.subarray(start, end))) this.malformed();
    return text;
  }

  /** Skips a field that nobody needs, given its tag. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case VARINT:
        this.varint();
        return;
      case FIXED64:
        this.advance(8);
        return;
      case LENGTH_DELIMITED:
        this.advance(this.length());
        return;
      case FIXED32:
        this.advance(4);
        return;
      case GROUP_START:
        this.#skipGroup(tag, depth);
        return;
      default:
        this.malformed();
    }
  }

  #skipGroup(start: number, depth: number): void {
    if (depth >= MAX_GROUP_DEPTH) this.malformed();
    for (;;) {
      const tag = this.tag();
      if ((tag & 7) !== GROUP_END) this.skip(tag, depth + 1);
      else if (tag >>> 3 === start >>> 3) return;
      else this.malformed();
    }
  }
}
