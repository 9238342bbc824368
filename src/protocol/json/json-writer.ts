// Writes JSON as Triton's answers have it (rapidjson's Writer with kWriteNanAndInfFlag): no spaces, whole doubles
// with `.0`, exponents without `+`, NaN and infinities bare, and of the control characters \b \f \n \r \t by letter and
// the others in upper-case hexadecimal. A writer serves one text after the other. A long text is in chunks, so that it
// never moves.

import type { Parameters } from '../../model/parameters.js';
import { STRING_CLASS } from './json-text.js';

const INITIAL_SIZE = 16 * 1024;
const CHUNK_SIZE = 1024 * 1024;

export class JsonWriter {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_SIZE);
  #length = 0;
  /** Full ones, before the buffer. */
  #chunks: Buffer[] = [];

  /** What was written since the last call, in memory of its own. */
  take(): Buffer {
    const chunks = this.takeChunks();
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  }

  /** {@link take} for a text that may be long: in chunks, of which there is one at least. */
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

  /** Forgets what was written since the last `take`. */
  discard(): void {
    this.#length = 0;
    this.#chunks = [];
  }

  /** Text that is JSON already, ASCII only. */
  raw(text: string): this {
    this.#reserve(text.length);
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

  /** A string with its quotes. */
  string(text: string): this {
    const length = text.length;
    this.#reserve(length + 2);
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

  /** Bytes of a string's UTF-8, without quotes: any part of it, cut anywhere. */
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

  /** The shortest text that reads back as the same double. */
  double(value: number): this {
    this.#reserve(32);
    this.#length = writeDouble(this.#buffer, this.#length, value);
    return this;
  }

  /** Doubles with commas between them. */
  doubles(values: Float32Array | Float64Array): this {
    for (let i = 0; i < values.length; i++) {
      this.#reserve(32);
      if (i > 0) this.#buffer[this.#length++] = 0x2c;
      this.#length = writeDouble(this.#buffer, this.#length, values[i]!);
    }
    return this;
  }

  /** Integers with commas between them. */
  integers(values: Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array): this {
    for (let i = 0; i < values.length; i++) {
      this.#reserve(16);
      if (i > 0) this.#buffer[this.#length++] = 0x2c;
      const value = values[i]!;
      if (value < 0) this.#buffer[this.#length++] = 0x2d;
      this.#length = writeDigits(this.#buffer, this.#length, Math.abs(value));
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

/** Of a control character, as `\\u001F`. */
const LONGEST_ESCAPE = 6;

/** What stands for a quote, a backslash or a control character. */
function escapeOf(byte: number): string {
  if (byte === 0x22) return '\\"';
  if (byte === 0x5c) return '\\\\';
  const letter = LETTERS[byte];
  return letter === undefined ? `\\u${byte.toString(16).toUpperCase().padStart(4, '0')}` : `\\${letter}`;
}

const LETTERS: Readonly<Record<number, string>> = { 8: 'b', 9: 't', 10: 'n', 12: 'f', 13: 'r' };

/** Writes at most 30 bytes. */
function writeDouble(buffer: Buffer, offset: number, value: number): number {
  // Up to three decimals and nine digits before them: the shortest text is found without the language's help, because
  // a decimal of at most 15 digits that reads back as the same double is the only one of that length or shorter.
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
    if (whole < 4294967296)
      return writeFraction(buffer, writeDigits(buffer, offset, whole), Math.abs(thousandths) - whole * 1000);
  }
  let text = String(value);
  if (text.includes('e+')) text = text.replace('e+', 'e');
  else if (Number.isInteger(value)) text += '.0';
  for (let i = 0; i < text.length; i++) buffer[offset++] = text.charCodeAt(i);
  return offset;
}

/** Writes `.` and the thousandths 0 … 999 without trailing zeros, but one digit at least. */
function writeFraction(buffer: Buffer, offset: number, thousandths: number): number {
  buffer[offset++] = 0x2e;
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

let free: JsonWriter | undefined = new JsonWriter();

/** Lends a writer for one text; whoever borrows it gives it back, whatever comes of the text. */
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
