// Walks over JSON text and finds what is ill-formed, with rapidjson's words and offsets, keeping nothing: the parser
// adds values to it, and arrays of numbers or strings are only walked over until their reader comes.

import { isUtf8 } from 'node:buffer';

import { TritonError } from '../../errors.js';
import { hexAt } from './json-string.js';
import { ESCAPED, isDigit, skipSpace, STRING_CLASS } from './json-text.js';

/** Deeper nesting is refused. */
export const MAX_JSON_DEPTH = 10_000;

/** What a string had in it that was walked over last. */
export const PLAIN = 0;
export const HAS_ESCAPES = 1;
export const HAS_UTF8 = 2;

export class JsonScanner {
  protected readonly bytes: Buffer;
  protected readonly end: number;
  protected pos: number;
  protected stringKind: number = PLAIN;
  readonly #start: number;
  #utf8Checked = false;

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes;
    this.#start = start;
    this.end = end;
    this.pos = start;
  }

  /** Goes to the end of an array without keeping anything of it. `depth` is the array's own level. */
  protected checkArray(depth: number): void {
    const bytes = this.bytes;
    const end = this.end;
    // The closing bytes of the containers that are open inside, the outermost first.
    const closers: number[] = [];
    let closer = 0x5d;
    this.checkDepth(depth);
    this.pos = skipSpace(bytes, this.pos + 1, end);
    if (this.at(this.pos) === 0x5d) {
      this.pos++;
      return;
    }
    for (;;) {
      if (closer === 0x5d) this.#skipShortNumbers();
      const byte = this.at(this.pos);
      if (byte === 0x22) {
        this.checkString();
      } else if (byte === 0x5b || byte === 0x7b) {
        this.pos = skipSpace(bytes, this.pos + 1, end);
        const inner = byte + 2;
        if (this.at(this.pos) === inner) {
          this.checkDepth(depth + closers.length + 1);
          this.pos++;
        } else {
          closers.push(closer);
          this.checkDepth(depth + closers.length);
          closer = inner;
          if (inner === 0x7d) this.#checkKey();
          continue;
        }
      } else if (byte === 0x74) {
        this.checkLiteral('true');
      } else if (byte === 0x66) {
        this.checkLiteral('false');
      } else if (byte === 0x6e) {
        this.checkLiteral('null');
      } else {
        this.checkNumber();
      }
      for (;;) {
        this.pos = skipSpace(bytes, this.pos, end);
        const next = this.at(this.pos);
        if (next === 0x2c) {
          this.pos = skipSpace(bytes, this.pos + 1, end);
          if (closer === 0x7d) this.#checkKey();
          break;
        }
        if (next !== closer) {
          const [what, where] = closer === 0x7d ? ["'}'", 'an object member'] : ["']'", 'an array element'];
          throw this.error(`Missing a comma or ${what} after ${where}.`, this.pos);
        }
        this.pos++;
        const outer = closers.pop();
        if (outer === undefined) return;
        closer = outer;
      }
    }
  }

  // The bulk of most requests: numbers of plain digits with commas right behind them. Whatever looks different, the last
  // number among them, is left where it is.
  #skipShortNumbers(): void {
    const { bytes, end } = this;
    for (;;) {
      let pos = this.pos;
      let byte = bytes[pos]!;
      if (byte === 0x2d) byte = bytes[++pos]!;
      if (byte < 0x30 || byte > 0x39) return;
      const first = byte;
      const digits = pos;
      do byte = bytes[++pos]!;
      while (byte >= 0x30 && byte <= 0x39);
      if (first === 0x30 && pos > digits + 1) return;
      if (byte === 0x2e) {
        const fraction = pos + 1;
        do byte = bytes[++pos]!;
        while (byte >= 0x30 && byte <= 0x39);
        if (pos === fraction) return;
      }
      if (byte !== 0x2c || pos >= end || pos - digits > 300) return;
      this.pos = skipSpace(bytes, pos + 1, end);
    }
  }

  #checkKey(): void {
    if (this.at(this.pos) !== 0x22) throw this.error('Missing a name for object member.', this.pos);
    this.checkString();
    this.colon();
  }

  protected colon(): void {
    this.skipSpace();
    if (this.at(this.pos) !== 0x3a) throw this.error('Missing a colon after a name of object member.', this.pos);
    this.pos++;
    this.skipSpace();
  }

  protected checkLiteral(literal: string): void {
    for (let i = 1; i < literal.length; i++) {
      if (this.at(this.pos + i) !== literal.charCodeAt(i)) throw this.error('Invalid value.', this.pos + i);
    }
    this.pos += literal.length;
  }

  /** Goes from the opening quote to the byte after the closing one. */
  protected checkString(): void {
    const bytes = this.bytes;
    const end = this.end;
    let kind = PLAIN;
    let pos = this.pos + 1;
    for (; ; pos++) {
      if (pos >= end) throw this.error('Missing a closing quotation mark in string.', end);
      const kindOfByte = STRING_CLASS[bytes[pos]!]!;
      if (kindOfByte === 0) continue;
      if (kindOfByte === 1) break;
      if (kindOfByte === 2) {
        kind = HAS_ESCAPES;
        pos = this.#checkEscape(pos);
      } else if (kindOfByte === 4) {
        if (!this.#utf8Checked) this.#checkUtf8();
        if (kind === PLAIN) kind = HAS_UTF8;
      } else if (bytes[pos] === 0) {
        throw this.error('Missing a closing quotation mark in string.', pos);
      } else {
        throw this.error('Invalid escape character in string.', pos);
      }
    }
    this.pos = pos + 1;
    this.stringKind = kind;
  }

  /** Returns the offset of the last byte of the escape that begins at `pos`. */
  #checkEscape(pos: number): number {
    const bytes = this.bytes;
    const letter = this.at(pos + 1);
    if (letter !== 0x75) {
      if (ESCAPED[letter] === 0 || pos + 1 >= this.end) throw this.error('Invalid escape character in string.', pos);
      return pos + 1;
    }
    const unit = this.#hex(pos + 2, pos);
    if (unit < 0xd800 || unit > 0xdfff) return pos + 5;
    const paired = unit < 0xdc00 && bytes[pos + 6] === 0x5c && bytes[pos + 7] === 0x75;
    const second = paired ? this.#hex(pos + 8, pos) : 0;
    if (second < 0xdc00 || second > 0xdfff) throw this.error('The surrogate pair in string is invalid.', pos);
    return pos + 11;
  }

  #hex(pos: number, escape: number): number {
    const value = pos + 4 <= this.end ? hexAt(this.bytes, pos) : -1;
    if (value < 0) throw this.error('Incorrect hex digit after \\u escape in string.', escape);
    return value;
  }

  // All at once: beyond ASCII, one native check of the whole text is cheaper than one per string.
  #checkUtf8(): void {
    this.#utf8Checked = true;
    const text = this.bytes.subarray(this.#start, this.end);
    if (isUtf8(text)) return;
    throw this.error('Invalid encoding in string.', this.#start + firstIllFormed(text));
  }

  /** Goes to the byte after a number; true for an integer of any size. */
  protected checkNumber(): boolean {
    const bytes = this.bytes;
    const end = this.end;
    const start = this.pos;
    let pos = start;
    let byte = this.at(pos);
    if (byte === 0x2d) byte = this.at(++pos);
    if (byte === 0x30) {
      byte = bytes[++pos]!;
    } else if (byte >= 0x31 && byte <= 0x39) {
      do byte = bytes[++pos]!;
      while (byte >= 0x30 && byte <= 0x39);
      if (pos > end) pos = end;
    } else {
      this.#checkNamedNumber(pos, byte);
      return false;
    }
    if (pos >= end || (byte !== 0x2e && byte !== 0x65 && byte !== 0x45)) {
      if (pos - start > 308) this.#checkRange(start, pos);
      this.pos = pos;
      return true;
    }
    if (byte === 0x2e) {
      if (++pos >= end || !isDigit(bytes[pos])) throw this.error('Miss fraction part in number.', pos);
      do byte = bytes[++pos]!;
      while (byte >= 0x30 && byte <= 0x39);
      if (pos > end) pos = end;
    }
    if (pos < end && (byte === 0x65 || byte === 0x45)) {
      byte = this.at(++pos);
      if (byte === 0x2b || byte === 0x2d) pos++;
      if (pos >= end || !isDigit(bytes[pos])) throw this.error('Miss exponent in number.', pos);
      while (pos < end && isDigit(bytes[pos])) pos++;
      this.#checkRange(start, pos);
    } else if (pos - start > 308) {
      this.#checkRange(start, pos);
    }
    this.pos = pos;
    return false;
  }

  /** NaN, Inf or Infinity at `pos`. */
  #checkNamedNumber(pos: number, byte: number): void {
    const name = byte === 0x4e ? 'NaN' : byte === 0x49 ? (this.at(pos + 3) === 0x69 ? 'Infinity' : 'Inf') : '';
    if (name === '') throw this.error('Invalid value.', pos);
    for (let i = 1; i < name.length; i++) {
      if (this.at(pos + i) !== name.charCodeAt(i)) throw this.error('Invalid value.', pos + i);
    }
    this.pos = pos + name.length;
  }

  #checkRange(start: number, stop: number): void {
    if (!Number.isFinite(Number(this.bytes.toString('latin1', start, stop)))) {
      throw this.error('Number too big to be stored in double.', start);
    }
  }

  protected checkDepth(depth: number): void {
    if (depth > MAX_JSON_DEPTH)
      throw this.error(`JSON nesting depth exceeds maximum allowed limit (${MAX_JSON_DEPTH})`, this.pos);
  }

  /** The byte there, or 0 at the end. */
  protected at(pos: number): number {
    return pos < this.end ? this.bytes[pos]! : 0;
  }

  protected skipSpace(): void {
    this.pos = skipSpace(this.bytes, this.pos, this.end);
  }

  protected error(text: string, offset: number): TritonError {
    return new TritonError(
      'INVALID_ARG',
      `failed to parse the request JSON buffer: ${text} at ${offset - this.#start}`,
    );
  }
}

/** Offset of the first ill-formed UTF-8 sequence. Whole blocks first: the text may be long. */
function firstIllFormed(text: Buffer): number {
  const isContinuation = (offset: number) => (text[offset]! & 0xc0) === 0x80;
  const isWellFormed = (start: number, end: number) => start < text.length && isUtf8(text.subarray(start, end));
  let offset = 0;
  for (const block of [65536, 1024, 16]) {
    for (;;) {
      let next = Math.min(offset + block, text.length);
      for (let i = 0; i < 3 && next < text.length && isContinuation(next); i++) next++;
      if (!isWellFormed(offset, next)) break;
      offset = next;
    }
  }
  for (;;) {
    const lead = text[offset]!;
    const next = offset + (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4);
    if (!isWellFormed(offset, next)) return offset;
    offset = next;
  }
}
