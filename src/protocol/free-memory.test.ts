import { describe, expect, it } from 'vitest';

import { freeMemory } from './free-memory.js';

describe('freeMemory', () => {
  it('gives large memory back at once', () => {
    const before = process.memoryUsage().arrayBuffers;
    const bytes = Buffer.allocUnsafeSlow(64 << 20);
    const part = bytes.subarray(5, 10);
    expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThanOrEqual(64 << 20);
    freeMemory(part);
    expect([bytes.length, part.length]).toEqual([0, 0]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 << 20);
  });

  it('leaves small buffers alone, which may share their memory, and memory of several threads', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(1 << 20));
    const small = Buffer.from('small');
    freeMemory(small);
    freeMemory(shared);
    expect(small.toString()).toBe('small');
    expect(shared.length).toBe(1 << 20);
  });
});
