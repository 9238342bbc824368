import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import type { Answer } from '../scheduler/pending-request.js';
import { type KeptAnswers, ResponseCache } from './response-cache.js';

let kept: KeptAnswers;

beforeEach(() => {
  kept = new Map();
});

function answer(bytes: Uint8Array, parameters?: Answer['parameters']): Answer {
  const outputs = [{ name: 'y', datatype: 'UINT8', shape: [bytes.length], bytes }] as const;
  return { modelName: 'm', modelVersion: '1', parameters, outputs };
}

const ofSize = (size: number) => answer(new Uint8Array(size));

/** What an answer of so many bytes takes. */
const entrySize = (size: number) => new ResponseCache(1e9).insert(new Map(), 'k', ofSize(size));

describe('ResponseCache', () => {
  it('gives what was inserted under a key', () => {
    const cache = new ResponseCache(10_000);
    cache.insert(kept, 'a', answer(Uint8Array.of(1, 2, 3), { z: 1 }));
    expect(cache.get(kept, 'a')).toEqual(answer(Uint8Array.of(1, 2, 3), { z: 1 }));
    expect(cache.get(kept, 'b')).toBeUndefined();
  });

  it('holds on to no memory of the answer that was inserted', () => {
    const batch = new Uint8Array(1 << 20);
    const cache = new ResponseCache(10_000);
    cache.insert(kept, 'a', answer(batch.subarray(8, 12)));
    batch.fill(7);
    const [output] = cache.get(kept, 'a')!.outputs;
    expect(output!.bytes).toEqual(new Uint8Array(4));
    expect(output!.bytes.buffer.byteLength).toBe(4);
  });

  it('copies bytes that are a Buffer, whose slices are views', () => {
    const bytes = Buffer.from('abc');
    const cache = new ResponseCache(10_000);
    cache.insert(kept, 'a', answer(bytes));
    bytes.fill(0);
    expect(Buffer.from(cache.get(kept, 'a')!.outputs[0]!.bytes).toString()).toBe('abc');
  });

  it('lets go of what was used longest ago', () => {
    const cache = new ResponseCache(2 * entrySize(100));
    cache.insert(kept, 'a', ofSize(100));
    cache.insert(kept, 'b', ofSize(100));
    cache.get(kept, 'a');
    cache.insert(kept, 'c', ofSize(100));
    expect(['a', 'b', 'c'].map((key) => cache.get(kept, key) !== undefined)).toEqual([true, false, true]);
  });

  it('finds what was used longest ago in constant time: V8 passes over all that left a map before its first entry', () => {
    const walks = (['keys', 'values', 'entries', 'forEach', Symbol.iterator] as const).map((way) =>
      vi.spyOn(Map.prototype, way),
    );
    const cache = new ResponseCache(2 * entrySize(100));
    for (const key of 'abcdef') cache.insert(kept, key, ofSize(100));
    const calls = walks.flatMap(({ mock }) => mock.calls);
    for (const walk of walks) walk.mockRestore();
    expect(calls).toEqual([]);
    expect(cache.usage.evictions).toBe(4);
  });

  it('makes room for a large answer by letting several go', () => {
    const cache = new ResponseCache(entrySize(2000));
    for (const key of ['a', 'b', 'c']) cache.insert(kept, key, ofSize(10));
    cache.insert(kept, 'large', ofSize(2000));
    expect(cache.size).toBe(1);
    expect(cache.byteSize).toBe(cache.capacity);
  });

  it('counts what it was asked, what came of it, and what it let go', () => {
    const cache = new ResponseCache(2 * entrySize(100));
    for (const key of ['a', 'b', 'c', 'c']) cache.insert(kept, key, ofSize(100));
    for (const key of ['a', 'b', 'c']) cache.get(kept, key);
    cache.countHit();
    cache.countHit();
    cache.countMiss();
    expect(cache.usage).toMatchObject({ lookups: 3, hits: 2, misses: 1, evictions: 1 });
    cache.insert(kept, 'all', ofSize(200));
    cache.forget(kept);
    expect(cache.usage.evictions).toBe(3);
  });

  it('counts how long it took', () => {
    const cache = new ResponseCache(10_000);
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 2));
    cache.insert(kept, 'a', ofSize(100));
    cache.insert(kept, 'b', ofSize(100_000));
    for (const key of ['a', 'b', 'c']) cache.get(kept, key);
    expect(cache.usage).toMatchObject({ insertionMs: 2, lookupMs: 6 });
  });

  it('leaves everything as it is when an answer is larger than the whole cache', () => {
    const cache = new ResponseCache(entrySize(100));
    cache.insert(kept, 'a', ofSize(100));
    expect(cache.insert(kept, 'b', ofSize(101))).toBe(entrySize(101));
    expect(cache.get(kept, 'b')).toBeUndefined();
    expect(cache.get(kept, 'a')).toBeDefined();
  });

  it('counts an answer that takes the place of another once', () => {
    const cache = new ResponseCache(10_000);
    cache.insert(kept, 'a', ofSize(100));
    cache.insert(kept, 'a', ofSize(50));
    expect(cache.byteSize).toBe(entrySize(50));
  });

  it('counts names, dimensions and parameters, so that empty answers do not fill the memory', () => {
    const cache = new ResponseCache(100_000);
    for (let i = 0; i < 1000; i++) cache.insert(kept, String(i), ofSize(0));
    expect(cache.size).toBeLessThan(200);
    const plain = entrySize(0);
    expect(
      new ResponseCache(1e9).insert(kept, 'k', answer(new Uint8Array(0), { text: 'x'.repeat(500) })),
    ).toBeGreaterThan(plain + 1000);
  });

  it('keeps the answers of one model apart from those of others, and forgets them alone', () => {
    const others: KeptAnswers = new Map();
    const cache = new ResponseCache(10_000);
    cache.insert(kept, 'a', ofSize(1));
    expect(cache.get(others, 'a')).toBeUndefined();
    cache.insert(others, 'a', ofSize(2));
    cache.forget(kept);
    expect(cache.get(kept, 'a')).toBeUndefined();
    expect(cache.get(others, 'a')).toEqual(ofSize(2));
    expect(cache.byteSize).toBe(entrySize(2));
  });

  it('lets others have their turn while it forgets many answers', async () => {
    const others: KeptAnswers = new Map();
    const cache = new ResponseCache(3000 * entrySize(1));
    for (let i = 0; i < 2000; i++) cache.insert(kept, String(i), ofSize(1));
    cache.forget(kept);
    expect(cache.size).toBeGreaterThan(1500);
    // It goes on, though answers are let go to make room for those of others.
    for (let i = 0; i < 1500; i++) cache.insert(others, String(i), ofSize(1));
    await expect.poll(() => cache.size).toBe(1500);
    expect(cache.byteSize).toBe(1500 * entrySize(1));
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
          const isKept = !reads && cache.insert(kept, key, ofSize(size)) <= cache.capacity;
          const found = cache.get(kept, key)?.outputs[0]!.bytes.byteLength;
          expect(isKept ? found : size).toBe(size);
          expect(cache.byteSize).toBeLessThanOrEqual(cache.capacity);
        }
        cache.forget(kept);
        expect([cache.size, cache.byteSize]).toEqual([0, 0]);
      }),
    );
  });
});
