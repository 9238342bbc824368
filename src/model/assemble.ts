// Pieces of bytes as one, for as many as there may be.

import { Pace, type PacedWork } from './paced-work.js';

/** So much is copied at a time. */
const BLOCK_BYTES = 1024 * 1024;

/** Joins the pieces, which are `byteLength` bytes together, and lets go of each: the list is empty afterwards. */
export function* assemble(pieces: Uint8Array[], byteLength: number): PacedWork<Buffer> {
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
    for (let start = 0; start < piece.byteLength; start += BLOCK_BYTES) {
      const block = piece.subarray(start, start + BLOCK_BYTES);
      whole.set(block, offset);
      offset += block.byteLength;
      if (pace.spend(block.byteLength >> COPYING_SHIFT)) yield;
    }
  }
  pieces.length = 0;
  return whole;
}

const NOTHING = new Uint8Array(0);
/** Copying is so much faster than looking at each byte, as a power of two. */
const COPYING_SHIFT = 4;
