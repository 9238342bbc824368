// Whether bytes are UTF-8 or ASCII, for as many bytes as there may be: block by block, each of which is a matter of microseconds.

import { isAscii, isUtf8 } from 'node:buffer';

import type { Pace, PacedWork } from './paced-work.js';

const BLOCK_BYTES = 256 * 1024;

export function* isAsciiPaced(bytes: Uint8Array, pace: Pace): PacedWork<boolean> {
  for (let start = 0; start < bytes.byteLength; start += BLOCK_BYTES) {
    const block = bytes.subarray(start, start + BLOCK_BYTES);
    if (!isAscii(block)) return false;
    if (pace.spend(block.byteLength >> 3)) yield;
  }
  return true;
}

export function* isUtf8Paced(bytes: Uint8Array, pace: Pace): PacedWork<boolean> {
  const { byteLength } = bytes;
  for (let start = 0; start < byteLength;) {
    let end = Math.min(start + BLOCK_BYTES, byteLength);
    // A block ends between two characters, none of which has more than three bytes after its first.
    for (let i = 0; i < 3 && end < byteLength && (bytes[end]! & 0xc0) === 0x80; i++) end--;
    if (!isUtf8(bytes.subarray(start, end))) return false;
    if (pace.spend((end - start) >> 2)) yield;
    start = end;
  }
  return true;
}
