// Huffman-codes strings whose characters stand for one byte each.

import { CODE_LENGTHS, CODES } from './huffman-code.js';

const LENGTHS = Uint8Array.from(CODE_LENGTHS);
const WORDS = Uint32Array.from(CODES);

/** In bytes, when coded. */
export function huffmanLength(text: string): number {
  let bits = 0;
  for (let i = 0; i < text.length; i++) bits += LENGTHS[text.charCodeAt(i)]!;
  return Math.ceil(bits / 8);
}

/** Writes the coded text at `at` and returns where it ends. */
export function huffmanEncode(text: string, target: Uint8Array, at: number): number {
  let end = at;
  let held = 0;
  let bits = 0;
  const put = (word: number, length: number): void => {
    held = (held << length) | word;
    bits += length;
    while (bits >= 8) {
      bits -= 8;
      target[end++] = held >>> bits;
    }
    held &= 0xff >>> (8 - bits);
  };
  for (let i = 0; i < text.length; i++) {
    const symbol = text.charCodeAt(i);
    const length = LENGTHS[symbol]!;
    const word = WORDS[symbol]!;
    // Up to seven bits are held already, and numbers of more than 32 bits cannot be shifted.
    if (length > 16) {
      put(word >>> 16, length - 16);
      put(word & 0xffff, 16);
    } else put(word, length);
  }
  // Filled up with the first bits of EOS (RFC 7541, section 5.2).
  if (bits > 0) target[end++] = (held << (8 - bits)) | (0xff >>> bits);
  return end;
}
