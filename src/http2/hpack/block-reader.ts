// Reads the primitives of a header block: integers and strings (RFC 7541, section 5). Every error here is one of
// decompression, after which nothing more of the connection can be understood.

import { Http2Error } from '../http2-error.js';
import { isFieldName, isFieldValue } from './field-characters.js';
import { huffmanDecode } from './huffman-decode.js';

/** Larger numbers make no sense in a header block. */
const LARGEST_INTEGER = 0x0fff_ffff;
/** A number may be written with zeros in front of it, without end. */
const MOST_BYTES_AFTER_PREFIX = 5;
const HUFFMAN = 0x80;
const SHORTEST_CODE_BITS = 5;

const EMPTY = Buffer.alloc(0);

export class BlockReader {
  /** The next byte to read, and the end of the block. */
  at = 0;
  end = 0;
  /** Whether the string that was read last may be a name or a value (RFC 9113, section 8.2.1). */
  isValid = true;
  #bytes: Buffer = EMPTY;
  #decoded: Buffer = EMPTY;

  begin(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes;
    this.at = start;
    this.end = end;
  }

  /** Lets go of the block. */
  finish(): void {
    this.#bytes = EMPTY;
  }

  /** The byte that says which field comes next; {@link integer} reads it too. */
  peek(): number {
    return this.#bytes[this.at]!;
  }

  integer(prefix: number): number {
    if (this.at >= this.end) throw cutOff();
    const bytes = this.#bytes;
    const most = (1 << prefix) - 1;
    const first = bytes[this.at++]! & most;
    if (first < most) return first;
    let value = most;
    for (let shift = 0; shift < 7 * MOST_BYTES_AFTER_PREFIX; shift += 7) {
      if (this.at >= this.end) throw cutOff();
      const byte = bytes[this.at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (value > LARGEST_INTEGER) break;
      if (byte < 0x80) return value;
    }
    throw new Http2Error(
      'COMPRESSION_ERROR',
      `a number in a header block is too large: expected at most ${LARGEST_INTEGER}`,
    );
  }

  name(): string {
    return this.#string(true);
  }

  value(): string {
    return this.#string(false);
  }

  // Each character of the text stands for one byte.
  #string(isName: boolean): string {
    // Of the byte that the length begins with, if there is one.
    const isCoded = (this.#bytes[this.at]! & HUFFMAN) !== 0;
    const length = this.integer(7);
    const start = this.at;
    const end = start + length;
    if (end > this.end) throw cutOff();
    this.at = end;
    if (!isCoded) {
      this.isValid = isName ? isFieldName(this.#bytes, start, end) : isFieldValue(this.#bytes, start, end);
      return this.#bytes.toString('latin1', start, end);
    }
    const decodedLength = this.#decode(start, end);
    const decoded = this.#decoded;
    this.isValid = isName ? isFieldName(decoded, 0, decodedLength) : isFieldValue(decoded, 0, decodedLength);
    return decoded.toString('latin1', 0, decodedLength);
  }

  #decode(start: number, end: number): number {
    const most = Math.floor(((end - start) * 8) / SHORTEST_CODE_BITS);
    if (this.#decoded.length < most) this.#decoded = Buffer.allocUnsafeSlow(Math.max(256, most));
    const length = huffmanDecode(this.#bytes, { start, end }, this.#decoded);
    if (length < 0) throw new Http2Error('COMPRESSION_ERROR', 'a string in a header block has no valid Huffman coding');
    return length;
  }
}

function cutOff(): Http2Error {
  return new Http2Error('COMPRESSION_ERROR', 'a header block ends inside a field');
}
