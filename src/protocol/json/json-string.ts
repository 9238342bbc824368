// Decodes the text between two quotes. The parser has checked it: escapes are complete, surrogates come in pairs, the rest is
// valid UTF-8.

import { ESCAPED } from './json-text.js';

// Names and datatypes recur with every request. So a few hundred short strings are kept and reused.
const KEPT = new Array<string | undefined>(256);
const LONGEST_KEPT = 24;

/** The plain ASCII text from `start` to `end`. */
export function asciiAt(bytes: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length === 0) return '';
  if (length > LONGEST_KEPT) return bytes.toString('latin1', start, end);
  const slot = (bytes[start]! * 31 + bytes[end - 1]! * 7 + bytes[(start + end) >> 1]! + length * 13) & 255;
  const kept = KEPT[slot];
  if (kept !== undefined && kept.length === length) {
    let same = 0;
    while (same < length && kept.charCodeAt(same) === bytes[start + same]) same++;
    if (same === length) return kept;
  }
  const text = bytes.toString('latin1', start, end);
  KEPT[slot] = text;
  return text;
}

/** The value of the text from `start` to `end`, which contains escapes. */
export function unescapedAt(bytes: Buffer, start: number, end: number): string {
  const value = Buffer.allocUnsafe(end - start);
  return value.toString('utf8', 0, unescapeInto(value, 0, bytes, start, end));
}

/**
 * Writes the text from `start` to `end` as UTF-8 to `target` at `offset`, with escapes replaced. Returns the offset behind it.
 * The result is never longer than the text.
 */
export function unescapeInto(target: Buffer, offset: number, bytes: Buffer, start: number, end: number): number {
  for (let pos = start; pos < end; pos++) {
    const byte = bytes[pos]!;
    if (byte !== 0x5c) {
      target[offset++] = byte;
      continue;
    }
    const letter = bytes[++pos]!;
    if (letter !== 0x75) {
      target[offset++] = ESCAPED[letter]!;
      continue;
    }
    let char = hexAt(bytes, pos + 1);
    pos += 4;
    if (char >= 0xd800 && char < 0xe000) {
      char = 0x10000 + ((char & 0x3ff) << 10) + (hexAt(bytes, pos + 3) & 0x3ff);
      pos += 6;
    }
    offset = writeChar(target, offset, char);
  }
  return offset;
}

/** How many bytes the escape at `pos` takes. */
export function escapeLength(bytes: Buffer, pos: number): number {
  if (bytes[pos + 1] !== 0x75) return 2;
  const unit = hexAt(bytes, pos + 2);
  return unit >= 0xd800 && unit < 0xe000 ? 12 : 6;
}

function writeChar(target: Buffer, offset: number, char: number): number {
  if (char < 0x80) {
    target[offset++] = char;
    return offset;
  }
  if (char < 0x800) {
    target[offset++] = 0xc0 | (char >> 6);
  } else {
    if (char < 0x10000) {
      target[offset++] = 0xe0 | (char >> 12);
    } else {
      target[offset++] = 0xf0 | (char >> 18);
      target[offset++] = 0x80 | ((char >> 12) & 0x3f);
    }
    target[offset++] = 0x80 | ((char >> 6) & 0x3f);
  }
  target[offset++] = 0x80 | (char & 0x3f);
  return offset;
}

/** The value of four hexadecimal digits, or -1 for anything else. */
export function hexAt(bytes: Buffer, pos: number): number {
  let value = 0;
  for (let i = 0; i < 4; i++) {
    const byte = bytes[pos + i] ?? 0;
    const digit =
      byte >= 0x30 && byte <= 0x39
        ? byte - 0x30
        : (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66
          ? (byte | 0x20) - 0x57
          : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}
