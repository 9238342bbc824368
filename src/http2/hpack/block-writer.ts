// Writes the primitives of a header block: integers and strings (RFC 7541, section 5), each character one byte.

import { huffmanEncode, huffmanLength } from './huffman-encode.js';

/** Of any number here: its first byte, and groups of seven bits for 32 more. */
export const LONGEST_INTEGER = 6;

/** The bits of a first byte that say what the number in its last `prefix` bits stands for. */
export interface Pattern {
  readonly bits: number;
  readonly prefix: number;
}

const RAW: Pattern = { bits: 0x00, prefix: 7 };
const HUFFMAN: Pattern = { bits: 0x80, prefix: 7 };

/** A loop is faster than a call into Node for texts no longer than this. */
const SHORT = 24;

const EMPTY = Buffer.alloc(0);

export class BlockWriter {
  /** Where the next byte goes. */
  at = 0;
  #target: Buffer = EMPTY;

  begin(target: Buffer, at: number): void {
    this.#target = target;
    this.at = at;
  }

  integer({ bits, prefix }: Pattern, value: number): void {
    const target = this.#target;
    const most = (1 << prefix) - 1;
    if (value < most) {
      target[this.at++] = bits | value;
      return;
    }
    target[this.at++] = bits | most;
    let rest = value - most;
    for (; rest >= 0x80; rest >>>= 7) target[this.at++] = (rest & 0x7f) | 0x80;
    target[this.at++] = rest;
  }

  /** As it is. */
  rawString(text: string): void {
    this.integer(RAW, text.length);
    if (text.length > SHORT) this.at += this.#target.write(text, this.at, 'latin1');
    else for (let i = 0; i < text.length; i++) this.#target[this.at++] = text.charCodeAt(i);
  }

  /** Huffman-coded when that is shorter: worth its time for texts that are sent more than once. */
  shortestString(text: string): void {
    const length = huffmanLength(text);
    if (length >= text.length) return this.rawString(text);
    this.integer(HUFFMAN, length);
    this.at = huffmanEncode(text, this.#target, this.at);
  }

  bytes(bytes: Uint8Array): void {
    const target = this.#target;
    let at = this.at;
    for (let i = 0; i < bytes.length; i++) target[at++] = bytes[i]!;
    this.at = at;
  }
}
