import { describe, expect, it } from 'vitest';

import { assemble } from './paced-bytes.js';
import { finishPaced, PAUSE_BYTES } from './paced-work.js';

describe('assemble', () => {
  it('joins pieces in their order and lets go of them', () => {
    const pieces = [Buffer.from('ab'), Buffer.alloc(0), Buffer.from('c'), new Uint8Array([100])];
    expect(finishPaced(assemble(pieces, 4)).toString()).toBe('abcd');
    expect(pieces).toEqual([]);
    expect(finishPaced(assemble([], 0))).toHaveLength(0);
  });

  it('does not copy a single piece', () => {
    const memory = new Uint8Array([1, 2, 3, 4]);
    const whole = finishPaced(assemble([memory.subarray(1, 3)], 2));
    expect([...whole]).toEqual([2, 3]);
    expect(whole.buffer).toBe(memory.buffer);
  });

  it('pauses in proportion to the bytes, whatever the pieces', () => {
    const size = 32 << 20;
    const pausesWith = (pieceSize: number) => {
      const pieces = Array.from({ length: size / pieceSize }, (_, i) => Buffer.alloc(pieceSize, i));
      const work = assemble(pieces, size);
      let pauses = 0;
      let step = work.next();
      for (; step.done !== true; step = work.next()) pauses++;
      expect(step.value.subarray(-1)).toEqual(Buffer.of(size / pieceSize - 1));
      return pauses;
    };
    // Copying counts a sixteenth of looking at each byte.
    const pauses = size / 16 / PAUSE_BYTES;
    expect(pausesWith(size / 2)).toBe(pauses);
    expect(pausesWith(size / 128)).toBe(pauses);
  });
});
