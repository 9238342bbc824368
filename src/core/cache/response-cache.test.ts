import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

import type { Answer } from '../scheduler/pending-request.js';
import { ResponseCache } from './response-cache.js';

const OWNER = {};

function answer(bytes: Uint8Array, parameters?: Answer['parameters']): Answer {
  const outputs = [{ name: 'y', datatype: 'UINT8', shape: [bytes.length], bytes }] as const;
  return { modelName: 'm', modelVersion: '1', parameters, outputs };
}

const ofSize = (size: number) => answer(new Uint8Array(size));

/** What an answer of so many bytes takes. */
const entrySize = (size: number) => new ResponseCache(1e9).insert('k', ofSize(size), OWNER);

describe('ResponseCache', () => {
  it('gives what was inserted under a key', () => {
    const cache = new ResponseCache(10_000);
    cache.insert('a', answer(Uint8Array.of(1, 2, 3), { z: 1 }), OWNER);
    expect(cache.get('a')).toEqual(answer(Uint8Array.of(1, 2, 3), { z: 1 }));
    expect(cache.get('b')).toBeUndefined();
  });

  it('holds on to no memory of the answer that was inserted', () => {
    const batch = new Uint8Array(1 << 20);
    const cache = new ResponseCache(10_000);
    cache.insert('a', answer(batch.subarray(8, 12)), OWNER);
    batch.fill(7);
    const [output] = cache.get('a')!.outputs;
    expect(output!.bytes).toEqual(new Uint8Array(4));
    expect(output!.bytes.buffer.byteLength).toBe(4);
  });

  it('copies bytes that are a Buffer, whose slices are views', () => {
    const bytes = Buffer.from('abc');
    const cache = new ResponseCache(10_000);
    cache.insert('a', answer(bytes), OWNER);
    bytes.fill(0);
    expect(Buffer.from(cache.get('a')!.outputs[0]!.bytes).toString()).toBe('abc');
  });

  it('lets go of what was used longest ago', () => {
    const cache = new ResponseCache(2 * entrySize(100));
    cache.insert('a', ofSize(100), OWNER);
    cache.insert('b', ofSize(100), OWNER);
    cache.get('a');
    cache.insert('c', ofSize(100), OWNER);
    expect(['a', 'b', 'c'].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true]);
  });

  it('finds what was used longest ago in constant time: V8 passes over all that left a map before its first entry', () => {
    const walks = (['keys', 'values', 'entries', 'forEach', Symbol.iterator] as const).map((way) =>
      vi.spyOn(Map.prototype, way),
    );
    const cache = new ResponseCache(2 * entrySize(100));
    for (const key of 'abcdef') cache.insert(key, ofSize(100), OWNER);
    const calls = walks.flatMap(({ mock }) => mock.calls);
    for (const walk of walks) walk.mockRestore();
    expect(calls).toEqual([]);
    expect(cache.usage.evictions).toBe(4);
  });

  it('makes room for a large answer by letting several go', () => {
    const cache = new ResponseCache(entrySize(2000));
    for (const key of ['a', 'b', 'c']) cache.insert(key, ofSize(10), OWNER);
    cache.insert('large', ofSize(2000), OWNER);
    expect(cache.size).toBe(1);
    expect(cache.byteSize).toBe(cache.capacity);
  });

  it('counts what it was asked, what came of it, and what it let go', () => {
    const cache = new ResponseCache(2 * entrySize(100));
    for (const key of ['a', 'b', 'c', 'c']) cache.insert(key, ofSize(100), OWNER);
    for (const key of ['a', 'b', 'c']) cache.get(key);
    cache.countHit();
    cache.countHit();
    cache.countMiss();
    expect(cache.usage).toMatchObject({ lookups: 3, hits: 2, misses: 1, evictions: 1 });
    cache.insert('all', ofSize(200), OWNER);
    cache.forget(OWNER);
    expect(cache.usage.evictions).toBe(3);
  });

  it('counts how long it took', () => {
    const cache = new ResponseCache(10_000);
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 2));
    cache.insert('a', ofSize(100), OWNER);
    cache.insert('b', ofSize(100_000), OWNER);
    for (const key of ['a', 'b', 'c']) cache.get(key);
    expect(cache.usage).toMatchObject({ insertionMs: 2, lookupMs: 6 });
  });

  it('leaves everything as it is when an answer is larger than the whole cache', () => {
    const cache = new ResponseCache(entrySize(100));
    cache.insert('a', ofSize(100), OWNER);
    expect(cache.insert('b', ofSize(101), OWNER)).toBe(entrySize(101));
    expect(cache.get('b')).toBeUndefined();
    expect(cache.get('a')).toBeDefined();
  });

  it('counts an answer that takes the place of another once', () => {
    const cache = new ResponseCache(10_000);
    cache.insert('a', ofSize(100), OWNER);
    cache.insert('a', ofSize(50), OWNER);
    expect(cache.byteSize).toBe(entrySize(50));
  });

  it('counts names, dimensions and parameters, so that empty answers do not fill the memory', () => {
    const cache = new ResponseCache(100_000);
    for (let i = 0; i < 1000; i++) cache.insert(String(i), ofSize(0), OWNER);
    expect(cache.size).toBeLessThan(200);
    const plain = entrySize(0);
    expect(
      new ResponseCache(1e9).insert('k', answer(new Uint8Array(0), { text: 'x'.repeat(500) }), OWNER),
    ).toBeGreaterThan(plain + 1000);
  });

  it('forgets what one owner inserted', () => {
    const other = {};
    const cache = new ResponseCache(10_000);
    cache.insert('a', ofSize(1), OWNER);
    cache.insert('b', ofSize(1), other);
    cache.forget(OWNER);
    expect(cache.get('a')).toBeUndefined();
    expect(cache.get('b')).toBeDefined();
    expect(cache.byteSize).toBe(entrySize(1));
  });

  it('never holds more than its capacity, and always the newest that fits', () => {
    const operation = fc.record({
      key: fc.integer({ min: 0, max: 9 }).map(String),
      size: fc.integer({ min: 0, max: 1500 }),
      reads: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const cache = new ResponseCache(3000);
        for (const { key, size, reads } of operations) {
          const isKept = !reads && cache.insert(key, ofSize(size), OWNER) <= cache.capacity;
          const found = cache.get(key)?.outputs[0]!.bytes.byteLength;
          expect(isKept ? found : size).toBe(size);
          expect(cache.byteSize).toBeLessThanOrEqual(cache.capacity);
        }
        cache.forget(OWNER);
        expect([cache.size, cache.byteSize]).toEqual([0, 0]);
      }),
    );
  });
});
