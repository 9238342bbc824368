// Joins and reads any number of bytes block by block. Each block takes microseconds.

import { isAscii, isUtf8 } from 'node:buffer';

import { Pace, type PacedWork } from './paced-work.js';

/** Bytes copied at a time. */
const COPIED_BYTES = 1024 * 1024;

/**
 * Joins the pieces, which have `byteLength` bytes together, and releases each: the list is empty afterwards. A callback
 * tells the owner of the memory about each copied piece.
 */
export function* assemble(
  pieces: Uint8Array[],
  byteLength: number,
  copied?: (piece: Uint8Array) => void,
): PacedWork<Buffer> {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) {
    pieces.length = 0;
    return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
  }
  const whole = Buffer.allocUnsafeSlow(byteLength);
  const pace = new Pace();
  let offset = 0;
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i]!;
    pieces[i] = NOTHING;
    yield* copyPaced(piece, whole, offset, pace);
    offset += piece.byteLength;
    copied?.(piece);
  }
  pieces.length = 0;
  return whole;
}

/** Copies the bytes to `offset` of the target. Bytes that are taken away meanwhile are not copied. */
export function* copyPaced(bytes: Uint8Array, target: Uint8Array, offset: number, pace: Pace): PacedWork<void> {
  for (let start = 0; start < bytes.byteLength; start += COPIED_BYTES) {
    const block = bytes.subarray(start, start + COPIED_BYTES);
    target.set(block, offset + start);
    if (pace.spend(block.byteLength >> COPYING_SHIFT)) yield;
  }
}

const NOTHING = new Uint8Array(0);
/** How much faster copying is than reading each byte, as a power of two. */
const COPYING_SHIFT = 4;

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
    // A block ends between two characters; a character has at most three bytes after its first.
    for (let i = 0; i < 3 && end < byteLength && (bytes[end]! & 0xc0) === 0x80; i++) end--;
    if (!isUtf8(bytes.subarray(start, end))) return false;
    if (pace.spend((end - start) >> 2)) yield;
    start = end;
  }
  return true;
}
