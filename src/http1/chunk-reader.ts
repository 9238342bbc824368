// Takes a chunked body apart (RFC 9112, section 7.1). Strict where others might see other chunks: sizes are nothing but hexadecimal
// digits, lines end with CRLF, and so does each chunk. Extensions and trailers are checked and dropped.

import { lowerCase } from '../ascii.js';
import { COLON, CR, hexDigit, LF, PLACES, SEMICOLON, TOKEN, VALUE } from './characters.js';
import { malformed, TOO_LARGE_EXTENSIONS, TOO_LARGE_HEAD, type Fault } from './fault.js';

/** Of all chunks of a body together. */
const MAX_EXTENSION_BYTES = 16 * 1024;
const MAX_TRAILER_BYTES = 16 * 1024;
/** Names, each with a token or a quoted text, and no spaces anywhere. */
const EXTENSIONS = /^(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[^"\\]|\\.)*"))?)+$/;
/** Larger sizes are not exact as numbers. */
const LARGEST_SIZE = Number.MAX_SAFE_INTEGER;
/** Leading zeros say nothing, so that there need not be many. */
const MAX_DIGITS = 32;
/** Trailers that would have meant something in the head. */
const FORBIDDEN_TRAILERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);
const LONGEST_FORBIDDEN = 17;

type Place =
  | 'size'
  | 'extension'
  | 'end of size'
  | 'data'
  | 'end of data'
  | 'last of data'
  | 'trailer'
  | 'trailer name'
  | 'trailer value'
  | 'end of trailer'
  | 'end';

export class ChunkReader {
  #place: Place = 'size';
  #size = 0;
  #digits = 0;
  #left = 0;
  #extension = '';
  #extensionBytes = 0;
  #trailerBytes = 0;
  #name = '';
  /** Set by {@link read}: the mistake. */
  fault: Fault | undefined;
  /** Set by {@link read}: the piece of a chunk's data that it has come to, `bytes[dataStart…dataEnd)`. */
  dataStart = 0;
  dataEnd = 0;

  reset(): void {
    this.#place = 'size';
    this.#size = 0;
    this.#digits = 0;
    this.#left = 0;
    this.#extension = '';
    this.#extensionBytes = 0;
    this.#trailerBytes = 0;
    this.#name = '';
    this.fault = undefined;
  }

  get isAtEnd(): boolean {
    return this.#place === 'end';
  }

  /** Reads up to the next piece of data, the end of the body, a fault, or `end`. Returns where it has come to. */
  read(bytes: Buffer, start: number, end: number): number {
    this.dataStart = this.dataEnd = 0;
    for (let at = start; at < end; at++) {
      if (this.#place === 'data') {
        const dataEnd = Math.min(end, at + this.#left);
        this.#left -= dataEnd - at;
        if (this.#left === 0) this.#place = 'end of data';
        this.dataStart = at;
        this.dataEnd = dataEnd;
        return dataEnd;
      }
      this.#step(bytes[at]!);
      if (this.fault !== undefined || this.#place === 'end') return at + 1;
    }
    return end;
  }

  #step(byte: number): void {
    switch (this.#place) {
      case 'size':
        this.#sizeByte(byte);
        return;
      case 'extension':
        this.#extensionByte(byte);
        return;
      case 'end of size':
        if (byte !== LF) this.#refuse('a carriage return without a line feed');
        else this.#begin();
        return;
      case 'end of data':
        if (byte === CR) this.#place = 'last of data';
        else this.#refuse('no line end after a chunk');
        return;
      case 'last of data':
        if (byte === LF) this.#place = 'size';
        else this.#refuse('no line end after a chunk');
        return;
      default:
        this.#trailerByte(byte);
    }
  }

  #sizeByte(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      this.#size = this.#size * 16 + digit;
      if (++this.#digits > MAX_DIGITS || this.#size > LARGEST_SIZE) this.#refuse('chunk size overflows');
    } else if (this.#digits === 0) {
      this.#refuse('invalid chunk size');
    } else if (byte === CR) {
      this.#place = 'end of size';
    } else if (byte === SEMICOLON) {
      this.#place = 'extension';
      this.#extension = ';';
    } else {
      this.#refuse('invalid chunk size');
    }
  }

  #extensionByte(byte: number): void {
    if (byte === CR) {
      if (EXTENSIONS.test(this.#extension)) this.#place = 'end of size';
      else this.#refuse('invalid chunk extension');
      this.#extension = '';
    } else if ((PLACES[byte]! & VALUE) === 0) {
      this.#refuse('invalid chunk extension');
    } else if (++this.#extensionBytes > MAX_EXTENSION_BYTES) {
      this.fault = TOO_LARGE_EXTENSIONS;
    } else {
      this.#extension += String.fromCharCode(byte);
    }
  }

  #begin(): void {
    this.#left = this.#size;
    this.#place = this.#size === 0 ? 'trailer' : 'data';
    this.#size = 0;
    this.#digits = 0;
  }

  #trailerByte(byte: number): void {
    if (++this.#trailerBytes > MAX_TRAILER_BYTES) {
      this.fault = TOO_LARGE_HEAD;
      return;
    }
    switch (this.#place) {
      case 'trailer':
        if (byte === CR) this.#place = 'end of trailer';
        else this.#nameByte(byte);
        return;
      case 'trailer name':
        this.#nameByte(byte);
        return;
      case 'trailer value':
        if (byte === CR) this.#place = 'end of trailer';
        else if ((PLACES[byte]! & VALUE) === 0) this.#refuse('invalid trailer');
        return;
      default:
        if (byte !== LF) this.#refuse('a carriage return without a line feed');
        else this.#place = this.#name === '' ? 'end' : 'trailer';
        this.#name = '';
    }
  }

  #nameByte(byte: number): void {
    if (byte === COLON && this.#name !== '') {
      if (FORBIDDEN_TRAILERS.has(this.#name)) this.#refuse(`${this.#name} among the trailers`);
      this.#place = 'trailer value';
    } else if ((PLACES[byte]! & TOKEN) === 0) {
      this.#refuse('invalid trailer');
    } else {
      this.#place = 'trailer name';
      // The forbidden names are no longer than this.
      if (this.#name.length <= LONGEST_FORBIDDEN) this.#name += lowerCase(String.fromCharCode(byte));
    }
  }

  #refuse(what: string): void {
    this.fault = malformed(what);
  }
}
