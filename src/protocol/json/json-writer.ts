// Writes JSON in the form of Triton's answers (rapidjson's Writer with kWriteNanAndInfFlag). It writes no spaces. Whole doubles
// have `.0`, exponents have no `+`, NaN and infinities are bare. The control characters \b \f \n \r \t are written by letter, the
// others in upper-case hexadecimal. A writer serves one text after the other. A long text is in chunks, so that it never moves.

import type { Parameters } from '../../model/parameters.js';
import { STRING_CLASS } from './json-text.js';

const INITIAL_SIZE = 16 * 1024;
const CHUNK_SIZE = 1024 * 1024;
/** The writer makes room for this many numbers at once. */
const NUMBERS_AT_ONCE = 256;

export class JsonWriter {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_SIZE);
  #length = 0;
  /** Full chunks, which precede the buffer. */
  #chunks: Buffer[] = [];

  /** Returns the text since the last call, in memory of its own. */
  take(): Buffer {
    const chunks = this.takeChunks();
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  }

  /** Like {@link take}, for a text that may be long. Returns at least one chunk. */
  takeChunks(): Buffer[] {
    const chunks = this.#chunks;
    const length = this.#length;
    this.#length = 0;
    if (chunks.length === 0 && this.#buffer.length < CHUNK_SIZE) {
      const text = Buffer.allocUnsafe(length);
      this.#buffer.copy(text, 0, 0, length);
      return [text];
    }
    chunks.push(this.#buffer.subarray(0, length));
    this.#chunks = [];
    this.#buffer = Buffer.allocUnsafeSlow(INITIAL_SIZE);
    return chunks;
  }

  /** Drops the text since the last `take`. */
  discard(): void {
    this.#length = 0;
    this.#chunks = [];
  }

  /** Writes ASCII text that is JSON already. */
  raw(text: string): this {
    if (this.#length + text.length > this.#buffer.length) this.#reserve(text.length);
    if (text.length > 32) {
      this.#length += this.#buffer.write(text, this.#length, 'latin1');
      return this;
    }
    const buffer = this.#buffer;
    let offset = this.#length;
    for (let i = 0; i < text.length; i++) buffer[offset++] = text.charCodeAt(i);
    this.#length = offset;
    return this;
  }

  /** Writes a string with its quotes. */
  string(text: string): this {
    const length = text.length;
    if (this.#length + length + 2 > this.#buffer.length) this.#reserve(length + 2);
    const buffer = this.#buffer;
    let offset = this.#length;
    buffer[offset++] = 0x22;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7e || STRING_CLASS[code] !== 0) return this.#escaped(text);
      buffer[offset++] = code;
    }
    buffer[offset++] = 0x22;
    this.#length = offset;
    return this;
  }

  /** Writes any part of a string's UTF-8, without quotes. The part may be cut anywhere. */
  utf8(bytes: Uint8Array): this {
    const { length } = bytes;
    this.#reserve(length * LONGEST_ESCAPE);
    const buffer = this.#buffer;
    let offset = this.#length;
    for (let i = 0; i < length; i++) {
      const byte = bytes[i]!;
      const kind = STRING_CLASS[byte]!;
      if (kind === 0 || kind === 4) buffer[offset++] = byte;
      else offset += buffer.write(escapeOf(byte), offset, 'latin1');
    }
    this.#length = offset;
    return this;
  }

  #escaped(text: string): this {
    const json = JSON.stringify(text).replace(/\\\\|\\u00[01][0-9a-f]/g, (escape) =>
      escape.length === 2 ? escape : `\\u${escape.slice(2).toUpperCase()}`,
    );
    this.#reserve(json.length * 3);
    this.#length += this.#buffer.write(json, this.#length, 'utf8');
    return this;
  }

  integer(value: number | bigint): this {
    if (typeof value === 'number' && value >= 0 && value < 10) {
      this.#reserve(1);
      this.#buffer[this.#length++] = 0x30 + value;
      return this;
    }
    return this.raw(String(value));
  }

  boolean(value: boolean): this {
    return this.raw(value ? 'true' : 'false');
  }

  /** Writes the shortest text that reads back as the same double. */
  double(value: number): this {
    this.#reserve(32);
    this.#length = writeDouble(this.#buffer, this.#length, value);
    return this;
  }

  /** Doubles with commas between them. */
  doubles(values: Float32Array | Float64Array): this {
    for (let start = 0; start < values.length; start += NUMBERS_AT_ONCE) {
      const end = Math.min(values.length, start + NUMBERS_AT_ONCE);
      this.#reserve(32 * (end - start));
      const buffer = this.#buffer;
      let offset = this.#length;
      for (let i = start; i < end; i++) {
        if (i > 0) buffer[offset++] = 0x2c;
        offset = writeDouble(buffer, offset, values[i]!);
      }
      this.#length = offset;
    }
    return this;
  }

  /** Integers with commas between them. */
  integers(values: Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array): this {
    for (let start = 0; start < values.length; start += NUMBERS_AT_ONCE) {
      const end = Math.min(values.length, start + NUMBERS_AT_ONCE);
      this.#reserve(16 * (end - start));
      const buffer = this.#buffer;
      let offset = this.#length;
      for (let i = start; i < end; i++) {
        if (i > 0) buffer[offset++] = 0x2c;
        const value = values[i]!;
        if (value < 0) buffer[offset++] = 0x2d;
        offset = writeDigits(buffer, offset, Math.abs(value));
      }
      this.#length = offset;
    }
    return this;
  }

  /** 64-bit integers with commas between them. */
  bigIntegers(values: BigInt64Array | BigUint64Array): this {
    for (let i = 0; i < values.length; i++) {
      if (i > 0) this.raw(',');
      this.raw(String(values[i]!));
    }
    return this;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    if (this.#length >= CHUNK_SIZE / 2) {
      this.#chunks.push(this.#buffer.subarray(0, this.#length));
      this.#length = 0;
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(bytes, CHUNK_SIZE));
      return;
    }
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(CHUNK_SIZE, this.#buffer.length * 2)));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Length of a control character such as `\\u001F`. */
const LONGEST_ESCAPE = 6;

/** The escape for a quote, a backslash or a control character. */
function escapeOf(byte: number): string {
  if (byte === 0x22) return '\\"';
  if (byte === 0x5c) return '\\\\';
  const letter = LETTERS[byte];
  return letter === undefined ? `\\u${byte.toString(16).toUpperCase().padStart(4, '0')}` : `\\${letter}`;
}

const LETTERS: Readonly<Record<number, string>> = { 8: 'b', 9: 't', 10: 'n', 12: 'f', 13: 'r' };

/** Writes at most 30 bytes. */
function writeDouble(buffer: Buffer, offset: number, value: number): number {
  // Finds the shortest text without the language's help, for up to three decimals and nine digits before them. A decimal of at
  // most 15 digits that reads back as the same double is unique: no other is as short or shorter.
  const thousandths = value * 1000;
  if (
    thousandths < 1e12 &&
    thousandths > -1e12 &&
    Math.trunc(thousandths) === thousandths &&
    thousandths / 1000 === value
  ) {
    if (value < 0 || (value === 0 && 1 / value < 0)) buffer[offset++] = 0x2d;
    const magnitude = Math.abs(value);
    const whole = Math.trunc(magnitude);
    if (whole < 4294967296) {
      const fraction = Math.abs(thousandths) - whole * 1000;
      if (whole < 10) buffer[offset++] = 0x30 + whole;
      else offset = writeDigits(buffer, offset, whole);
      buffer[offset++] = 0x2e;
      if (fraction > 0) return writeThousandths(buffer, offset, fraction);
      buffer[offset++] = 0x30;
      return offset;
    }
  }
  let text = String(value);
  if (text.includes('e+')) text = text.replace('e+', 'e');
  else if (Number.isInteger(value)) text += '.0';
  for (let i = 0; i < text.length; i++) buffer[offset++] = text.charCodeAt(i);
  return offset;
}

/** Writes the thousandths 1 … 999 without trailing zeros. */
function writeThousandths(buffer: Buffer, offset: number, thousandths: number): number {
  const tenths = (thousandths / 100) | 0;
  const rest = thousandths - tenths * 100;
  buffer[offset++] = 0x30 + tenths;
  if (rest === 0) return offset;
  const hundredths = (rest / 10) | 0;
  buffer[offset++] = 0x30 + hundredths;
  if (rest !== hundredths * 10) buffer[offset++] = 0x30 + rest - hundredths * 10;
  return offset;
}

/** Writes an integer 0 … 2^32 - 1. */
function writeDigits(buffer: Buffer, offset: number, value: number): number {
  if (value < 10) {
    buffer[offset++] = 0x30 + value;
    return offset;
  }
  let digits = 2;
  for (let limit = 100; value >= limit; limit *= 10) digits++;
  const end = offset + digits;
  for (let pos = end - 1; pos >= offset; pos--) {
    const tens = Math.floor(value / 10);
    buffer[pos] = 0x30 + (value - tens * 10);
    value = tens;
  }
  return end;
}

// One shared writer for all answers, one after the other. An answer that pauses keeps it. Another answer meanwhile gets a new
// writer.

let free: JsonWriter | undefined = new JsonWriter();

/** Lends a writer for one text. The borrower gives it back in any case, also after an error. */
export function borrowWriter(): JsonWriter {
  const writer = free ?? new JsonWriter();
  free = undefined;
  return writer;
}

export function giveBackWriter(writer: JsonWriter): void {
  writer.discard();
  free = writer;
}

export function writeParameter(writer: JsonWriter, value: Parameters[string]): void {
  if (typeof value === 'string') writer.string(value);
  else if (typeof value === 'boolean') writer.boolean(value);
  else if (typeof value === 'bigint' || Number.isSafeInteger(value)) writer.integer(value);
  else writer.double(value);
}
