// Walks over JSON text and reports ill-formed text, with rapidjson's words and offsets. It keeps nothing; the parser adds values
// to it. The walk over long strings and containers can pause anywhere. Numbers cannot be cut, so they are limited. Long runs of
// white space are found ahead of the walk, which then jumps over them.

import { isUtf8 } from 'node:buffer';

import { invalidArg, type TritonError } from '../../errors.js';
import { hexAt } from './json-string.js';
import { ESCAPED, isDigit, STRING_CLASS } from './json-text.js';
import { HAS_ESCAPES, HAS_UTF8, PLAIN, type StringKind } from './json-value.js';

/** Deeper nesting is refused, as by Triton. */
export const MAX_JSON_DEPTH = 100;

/** Longer texts of one number are refused: no double needs so many digits. */
const MAX_NUMBER_LENGTH = 1024;
/** Shorter runs of white space are walked over. */
export const LONG_RUN_BYTES = 64 * 1024;

/** Long runs of white space in a text. */
export interface LongRuns {
  /** Looks for them in steps. Returns true when all are found. */
  advance(bytes: number): boolean;
  /** The end of the run that `offset` lies in, else `offset`. */
  endOfRun(offset: number): number;
}

const UTF8_BLOCK = 256 * 1024;

// States: where a walk continues.
const AT_VALUE = 0;
const IN_STRING = 1;
const IN_KEY = 2;

export class JsonScanner {
  protected readonly bytes: Buffer;
  protected readonly end: number;
  protected pos: number;
  /** The offset at or after which the walk pauses. */
  protected pauseAt = Infinity;
  /** The kind of the last scanned string. */
  protected stringKind: StringKind = PLAIN;
  readonly #start: number;
  /** Long runs of white space, which are found ahead of a walk that pauses. */
  runs: LongRuns | undefined = undefined;
  /** Strings before this offset are known to be UTF-8. */
  #utf8Until = 0;
  /** The closing bytes of the containers around the innermost one of a walk, the outermost first. */
  readonly #closers: number[] = [];
  #closer = 0;
  #walkState = AT_VALUE;
  /** Commas in the outermost container of a walk. */
  #commas = 0;

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes;
    this.#start = start;
    this.end = end;
    this.pos = start;
  }

  /** Enters a container of which nothing is kept, at its opening bracket. Returns true when it is empty, and so done. */
  protected beginWalk(): boolean {
    this.#commas = 0;
    return this.#enter();
  }

  /** The number of elements or members in the container that {@link walk} has left. */
  protected get walkedOver(): number {
    return this.#commas + 1;
  }

  #enter(): boolean {
    const closer = this.at(this.pos) + 2;
    if (this.token(this.pos + 1) === closer) {
      this.pos++;
      return true;
    }
    this.#closer = closer;
    this.#walkState = AT_VALUE;
    if (closer === 0x7d) this.#beginKey();
    return false;
  }

  /** Continues in the container that {@link beginWalk} has entered. Returns false when it paused and must be called again. */
  protected walk(): boolean {
    const closers = this.#closers;
    for (;;) {
      if (this.#walkState === AT_VALUE) {
        if (this.#closer === 0x5d) this.#skipShortNumbers();
        if (this.pos >= this.pauseAt) return false;
        const byte = this.at(this.pos);
        if (byte === 0x22) {
          this.beginString();
          this.#walkState = IN_STRING;
        } else if (byte === 0x5b || byte === 0x7b) {
          const outer = this.#closer;
          if (closers.length + 2 > MAX_JSON_DEPTH) throw tooDeep();
          if (!this.#enter()) {
            closers.push(outer);
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
      }
      if (this.#walkState !== AT_VALUE) {
        if (!this.scanString()) return false;
        const wasKey = this.#walkState === IN_KEY;
        this.#walkState = AT_VALUE;
        if (wasKey) {
          this.colon();
          continue;
        }
      }
      // A value is complete. The containers around it may be complete too.
      for (;;) {
        const next = this.token(this.pos);
        if (next === 0x2c) {
          if (closers.length === 0) this.#commas++;
          this.token(this.pos + 1);
          if (this.#closer === 0x7d) this.#beginKey();
          break;
        }
        if (next !== this.#closer) {
          const [what, where] = this.#closer === 0x7d ? ["'}'", 'an object member'] : ["']'", 'an array element'];
          throw this.error(`Missing a comma or ${what} after ${where}.`, this.pos);
        }
        this.pos++;
        const outer = closers.pop();
        if (outer === undefined) return true;
        this.#closer = outer;
      }
    }
  }

  #beginKey(): void {
    this.beginKey();
    this.#walkState = IN_KEY;
  }

  // Skips the bulk of most requests: numbers of plain digits with commas right behind them. It stops at anything else, the last
  // number included.
  #skipShortNumbers(): void {
    const { bytes, end } = this;
    const stop = Math.min(end, this.pauseAt);
    const counts = this.#closers.length === 0 ? 1 : 0;
    while (this.pos < stop) {
      let pos = this.pos;
      let byte = bytes[pos]!;
      if (byte === 0x2d) byte = bytes[++pos]!;
      if (byte < 0x30 || byte > 0x39) return;
      const first = byte;
      const digits = pos;
      const most = pos + 300;
      do byte = bytes[++pos]!;
      while (byte >= 0x30 && byte <= 0x39 && pos < most);
      if (first === 0x30 && pos > digits + 1) return;
      if (byte === 0x2e) {
        const fraction = pos + 1;
        do byte = bytes[++pos]!;
        while (byte >= 0x30 && byte <= 0x39 && pos < most);
        if (pos === fraction) return;
      }
      if (byte !== 0x2c || pos >= end) return;
      this.#commas += counts;
      const following = bytes[++pos]!;
      this.pos = following > 0x20 || pos >= end ? pos : this.space(pos);
    }
  }

  /** Begins the string of a member's name. */
  protected beginKey(): void {
    if (this.pos >= this.end || this.bytes[this.pos] !== 0x22)
      throw this.error('Missing a name for object member.', this.pos);
    this.pos++;
    this.stringKind = PLAIN;
  }

  protected colon(): void {
    if (this.token(this.pos) !== 0x3a) throw this.error('Missing a colon after a name of object member.', this.pos);
    this.token(this.pos + 1);
  }

  protected checkLiteral(literal: string): void {
    for (let i = 1; i < literal.length; i++) {
      if (this.at(this.pos + i) !== literal.charCodeAt(i)) throw this.error('Invalid value.', this.pos + i);
    }
    this.pos += literal.length;
  }

  /** Begins a string at its opening quote. */
  protected beginString(): void {
    this.pos++;
    this.stringKind = PLAIN;
  }

  /** Scans to the byte after the closing quote. Returns false when it paused and must be called again. */
  protected scanString(): boolean {
    const { bytes, end } = this;
    const stop = Math.min(end, this.pauseAt);
    let kind = this.stringKind;
    let pos = this.pos;
    for (; pos < stop; pos++) {
      const kindOfByte = STRING_CLASS[bytes[pos]!]!;
      if (kindOfByte === 0) continue;
      if (kindOfByte === 1) {
        this.pos = pos + 1;
        this.stringKind = kind;
        return true;
      }
      if (kindOfByte === 2) {
        kind = HAS_ESCAPES;
        pos = this.#checkEscape(pos);
      } else if (kindOfByte === 4) {
        if (pos >= this.#utf8Until) this.#checkUtf8(pos);
        if (kind === PLAIN) kind = HAS_UTF8;
      } else if (bytes[pos] === 0) {
        throw this.error('Missing a closing quotation mark in string.', pos);
      } else {
        throw this.error('Invalid escape character in string.', pos);
      }
    }
    // An escape may reach beyond the pause, but never beyond the end.
    if (pos >= end) throw this.error('Missing a closing quotation mark in string.', end);
    this.pos = pos;
    this.stringKind = kind;
    return false;
  }

  /** Returns the offset of the last byte of the escape that begins at `pos`. */
  #checkEscape(pos: number): number {
    const letter = this.at(pos + 1);
    if (letter !== 0x75) {
      if (ESCAPED[letter] === 0 || pos + 1 >= this.end) throw this.error('Invalid escape character in string.', pos);
      return pos + 1;
    }
    const unit = this.#hex(pos + 2, pos);
    if (unit < 0xd800 || unit > 0xdfff) return pos + 5;
    const paired = unit < 0xdc00 && this.at(pos + 6) === 0x5c && this.at(pos + 7) === 0x75;
    const second = paired ? this.#hex(pos + 8, pos) : 0;
    if (second < 0xdc00 || second > 0xdfff) throw this.error('The surrogate pair in string is invalid.', pos);
    return pos + 11;
  }

  #hex(pos: number, escape: number): number {
    const value = pos + 4 <= this.end ? hexAt(this.bytes, pos) : -1;
    if (value < 0) throw this.error('Incorrect hex digit after \\u escape in string.', escape);
    return value;
  }

  // Checks a block at a time: beyond ASCII, one native check of many bytes is cheaper than one per string. Ill-formed bytes
  // outside of strings are reported by other checks.
  #checkUtf8(pos: number): void {
    const { bytes } = this;
    let until = Math.min(this.end, pos + UTF8_BLOCK);
    // The block ends between two characters.
    if (until < this.end) while (until > pos && (bytes[until]! & 0xc0) === 0x80) until--;
    const block = bytes.subarray(pos, until);
    if (until > pos && isUtf8(block)) {
      this.#utf8Until = until;
      return;
    }
    const wellFormed = until > pos ? firstIllFormed(block) : 0;
    if (wellFormed === 0) throw this.error('Invalid encoding in string.', pos);
    this.#utf8Until = pos + wellFormed;
  }

  /** Goes to the byte after a number; true for an integer of any size. */
  protected checkNumber(): boolean {
    const bytes = this.bytes;
    const start = this.pos;
    const end = Math.min(this.end, start + MAX_NUMBER_LENGTH);
    let pos = start;
    let byte = this.at(pos);
    if (byte === 0x2d) byte = this.at(++pos);
    if (byte === 0x30) {
      byte = bytes[++pos]!;
    } else if (byte >= 0x31 && byte <= 0x39) {
      do byte = bytes[++pos]!;
      while (byte >= 0x30 && byte <= 0x39 && pos < end);
    } else {
      this.#checkNamedNumber(pos, byte);
      return false;
    }
    let integer = true;
    if (pos < end && byte === 0x2e) {
      integer = false;
      if (++pos >= end || !isDigit(bytes[pos])) throw this.error('Miss fraction part in number.', pos);
      do byte = bytes[++pos]!;
      while (byte >= 0x30 && byte <= 0x39 && pos < end);
    }
    let exponent = false;
    if (pos < end && (byte === 0x65 || byte === 0x45)) {
      integer = false;
      exponent = true;
      byte = this.at(++pos);
      if (byte === 0x2b || byte === 0x2d) pos++;
      if (pos >= end || !isDigit(bytes[pos])) throw this.error('Miss exponent in number.', pos);
      while (pos < end && isDigit(bytes[pos])) pos++;
    }
    if (pos === end && end < this.end && isDigit(bytes[pos])) {
      throw this.error('Number too big to be stored in double.', start);
    }
    if (exponent || pos - start > 308) this.#checkRange(start, pos);
    this.pos = pos;
    return integer;
  }

  /** Reads NaN, Inf or Infinity at `pos`. */
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

  /** The byte at `pos`, or 0 at the end. */
  protected at(pos: number): number {
    return pos < this.end ? this.bytes[pos]! : 0;
  }

  /** Moves to the first byte at or after `pos` that is not white space. Returns that byte, or 0 at the end. */
  protected token(pos: number): number {
    const { bytes, end } = this;
    const next = pos < end && bytes[pos]! > 0x20 ? pos : this.space(pos);
    this.pos = next;
    return next < end ? bytes[next]! : 0;
  }

  /** The offset of the first byte at or after `pos` that is not white space. */
  protected space(pos: number): number {
    const { bytes, end } = this;
    let next = pos;
    for (;;) {
      const stop = Math.min(end, next + LONG_RUN_BYTES);
      for (; next < stop; next++) {
        const byte = bytes[next]!;
        if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return next;
      }
      if (next >= end) return next;
      if (this.runs !== undefined) next = this.runs.endOfRun(next);
    }
  }

  protected error(text: string, offset: number): TritonError {
    return invalidArg(`failed to parse the request JSON buffer: ${text} at ${offset - this.#start}`);
  }
}

export function tooDeep(): TritonError {
  return invalidArg(`JSON nesting depth exceeds maximum allowed limit (${MAX_JSON_DEPTH})`);
}

/** Offset of the first ill-formed UTF-8 sequence. It checks whole blocks first, because the text may be long. */
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
