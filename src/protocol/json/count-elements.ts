// Counts the elements of an array without making values of them: tensor data may have millions.

import { STRING_CLASS } from './json-text.js';
import type { JsonArray } from './json-value.js';

/** The number of elements of the array itself; nested ones count as one each. */
export function countElements({ bytes, start, end, objects }: JsonArray): number {
  if (objects !== undefined) return objects.length;
  let commas = 0;
  let depth = 0;
  let isEmpty = true;
  for (let pos = start + 1; pos < end - 1; pos++) {
    const byte = bytes[pos]!;
    if (byte <= 0x20) continue;
    isEmpty = false;
    if (byte === 0x2c) {
      if (depth === 0) commas++;
    } else if (byte === 0x22) {
      pos = stringEnd(bytes, pos);
    } else if (byte === 0x5b || byte === 0x7b) {
      depth++;
    } else if (byte === 0x5d || byte === 0x7d) {
      depth--;
    }
  }
  return isEmpty ? 0 : commas + 1;
}

/** Offset of the closing quote of the string that opens at `pos`. */
function stringEnd(bytes: Buffer, pos: number): number {
  for (;;) {
    const kind = STRING_CLASS[bytes[++pos]!]!;
    if (kind === 1) return pos;
    if (kind === 2) pos++;
  }
}
