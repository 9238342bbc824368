// Reads protobuf messages in a file field by field, without holding the file in memory: models have gigabytes of
// weights, and of those only the places are needed. Knows the wire format and nothing of what the fields mean.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Where a message lies within the file. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Field {
  readonly number: number;
  /** Of a varint, rounded beyond 2^53; NaN for every other wire type. */
  readonly value: number;
  /** Where a length-delimited value lies: a message, a string or bytes. Empty for every other wire type. */
  readonly span: Span;
}

const WINDOW_BYTES = 64 * 1024;
/** Longest text that is read: names are short, and a broken length must not take memory. */
const MAX_TEXT_BYTES = 1024 * 1024;
const NOTHING: Span = { start: 0, end: 0 };

export class ProtobufFile {
  readonly #file: number;
  readonly #window = Buffer.alloc(WINDOW_BYTES);
  #windowStart = 0;
  #windowEnd = 0;
  #position = 0;
  /** The whole file. */
  readonly span: Span;

  /** Throws Node's own error when the file cannot be read. */
  constructor(path: string) {
    this.#file = openSync(path, 'r');
    const stats = fstatSync(this.#file);
    this.span = { start: 0, end: stats.size };
    if (stats.isFile()) return;
    this.close();
    throw new Error('it is not a file');
  }

  close(): void {
    closeSync(this.#file);
  }

  /** The fields of a message, in the file's order. Throws RangeError when the bytes are not a message. */
  *fields({ start, end }: Span): Generator<Field> {
    let at = start;
    while (at < end) {
      this.#position = at;
      const tag = this.#varint(end);
      const number = Math.floor(tag / 8);
      if (number < 1 || number >= 2 ** 29) throw malformed(at);
      let value = NaN;
      let span = NOTHING;
      switch (tag % 8) {
        case 0:
          value = this.#varint(end);
          break;
        case 1:
          this.#position += 8;
          break;
        case 2: {
          const length = this.#varint(end);
          span = { start: this.#position, end: this.#position + length };
          this.#position = span.end;
          break;
        }
        case 5:
          this.#position += 4;
          break;
        default:
          throw malformed(at);
      }
      if (this.#position > end) throw malformed(at);
      at = this.#position;
      // The caller may read elsewhere before it asks for the next field.
      yield { number, value, span };
    }
  }

  /** The bytes of a span as UTF-8. */
  text({ start, end }: Span): string {
    if (end - start > MAX_TEXT_BYTES) throw malformed(start);
    const at = start - this.#windowStart;
    if (at >= 0 && end <= this.#windowEnd) return this.#window.toString('utf8', at, at + end - start);
    const bytes = Buffer.alloc(end - start);
    if (readSync(this.#file, bytes, 0, bytes.length, start) < bytes.length) throw malformed(start);
    return bytes.toString('utf8');
  }

  #varint(end: number): number {
    const start = this.#position;
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      if (this.#position >= end) throw malformed(start);
      const byte = this.#byte(this.#position++);
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
    throw malformed(start);
  }

  #byte(position: number): number {
    if (position < this.#windowStart || position >= this.#windowEnd) {
      this.#windowStart = position;
      this.#windowEnd = position + readSync(this.#file, this.#window, 0, WINDOW_BYTES, position);
      // The file became shorter while it was read.
      if (this.#windowEnd === position) throw malformed(position);
    }
    return this.#window[position - this.#windowStart]!;
  }
}

function malformed(position: number): RangeError {
  return new RangeError(`it is cut short or malformed at byte ${position}`);
}
