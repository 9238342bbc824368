import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { LargeMemory, LEAST_LARGE_BYTES } from './large-memory.js';

const MIB = 1 << 20;
const SIZE = 2 * MIB;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** An answer in memory of its own, which is sent in two pieces. */
function lent(memory: LargeMemory, bytes = SIZE): { readonly buffer: ArrayBuffer; readonly pieces: Uint8Array[] } {
  const answer = new Uint8Array(bytes).fill(7);
  const pieces = [answer.subarray(0, 1000), answer.subarray(1000)];
  memory.lend(answer.buffer, [Uint8Array.of(1), answer]);
  return { buffer: answer.buffer, pieces };
}

describe('large memory', () => {
  it('is used again when all bytes of an answer were sent, and not before', () => {
    const memory = new LargeMemory();
    const { buffer, pieces } = lent(memory);
    memory.sent(pieces[0]!);
    expect([memory.keptBytes, memory.spareOfRequest(SIZE)]).toEqual([0, undefined]);
    memory.sent(pieces[1]!);
    expect(memory.keptBytes).toBe(SIZE);
    const again = memory.ofRequest(SIZE - 100);
    expect([again.length, again[0], again.byteOffset]).toEqual([SIZE - 100, 7, 0]);
    // Nobody reaches it any more by what was sent.
    expect([memory.keptBytes, buffer.byteLength, pieces[1]!.length]).toEqual([0, 0, 0]);
  });

  it('is given to one at a time', () => {
    const memory = new LargeMemory();
    memory.sentAll(lent(memory).pieces);
    const [first, second] = [memory.ofRequest(SIZE), memory.ofRequest(SIZE)];
    first.fill(1);
    second.fill(2);
    expect(first.buffer).not.toBe(second.buffer);
    expect(first.every((byte) => byte === 1)).toBe(true);
  });

  it('is not taken for much smaller, larger or small requests', () => {
    const memory = new LargeMemory();
    memory.sentAll(lent(memory).pieces);
    for (const bytes of [SIZE + 1, SIZE / 2, LEAST_LARGE_BYTES - 1, 10])
      expect(memory.spareOfRequest(bytes)).toBeUndefined();
    expect(memory.ofRequest(SIZE * 2).length).toBe(SIZE * 2);
    expect(memory.keptBytes).toBe(SIZE);
  });

  it('stays with answers where answers are made', () => {
    const memory = new LargeMemory();
    memory.sentAll(lent(memory).pieces);
    expect(memory.ofAnswer(SIZE)[0]).toBe(7);
    memory.sentAll(lent(memory).pieces);
    expect(memory.spareOfRequest(SIZE)).toBeUndefined();
    expect(memory.ofRequest(SIZE).length).toBe(SIZE);
    expect(memory.ofAnswer(SIZE)[0]).toBe(7);
  });

  it('is left alone where it was not lent, or only in part sent', () => {
    const memory = new LargeMemory();
    memory.sent(new Uint8Array(SIZE));
    memory.sent(Buffer.from('small'));
    const { buffer, pieces } = lent(memory);
    memory.sent(pieces[1]!);
    memory.lend(new ArrayBuffer(SIZE), [Uint8Array.of(1)]);
    expect([memory.keptBytes, buffer.byteLength]).toEqual([0, SIZE]);
  });

  it('goes back to the system at once beyond a bound', () => {
    const memory = new LargeMemory();
    const answers = Array.from({ length: 5 }, () => lent(memory, 20 * MIB));
    for (const { pieces } of answers) memory.sentAll(pieces);
    expect(memory.keptBytes).toBe(60 * MIB);
    expect(answers.map(({ buffer }) => buffer.byteLength > 0)).toEqual([true, true, true, false, false]);
  });

  it('goes back to the system within two seconds when nobody wants it, and no timer is left', () => {
    const memory = new LargeMemory();
    const old = lent(memory);
    memory.sentAll(old.pieces);
    vi.advanceTimersByTime(1500);
    const young = lent(memory);
    memory.sentAll(young.pieces);
    vi.advanceTimersByTime(500);
    expect([old.buffer.byteLength, young.buffer.byteLength, memory.keptBytes]).toEqual([0, SIZE, SIZE]);
    vi.advanceTimersByTime(1000);
    expect([young.buffer.byteLength, memory.keptBytes, vi.getTimerCount()]).toEqual([0, 0, 0]);
    memory.sentAll(lent(memory).pieces);
    expect([memory.keptBytes, vi.getTimerCount()]).toEqual([SIZE, 1]);
  });
});
