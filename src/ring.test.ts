/* oxlint-disable vitest/no-conditional-expect -- a property checks every step of a random sequence */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

import { Ring } from './ring.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('Ring', () => {
  it('gives items back in the order in which they came', () => {
    const ring = new Ring<number>();
    for (const item of [1, 2, 3]) ring.push(item);
    expect([ring.shift(), ring.shift(), ring.shift(), ring.shift()]).toEqual([1, 2, 3, undefined]);
  });

  it('looks at any item without taking it', () => {
    const ring = new Ring<string>();
    ring.push('a');
    ring.push('b');
    expect([ring.at(0), ring.at(1), ring.at(2)]).toEqual(['a', 'b', undefined]);
    expect(ring.length).toBe(2);
  });

  it('is empty once it is cleared, and takes new items', () => {
    const ring = new Ring<number>();
    for (let item = 0; item < 40; item++) ring.push(item);
    ring.shift();
    ring.clear();
    expect([ring.length, ring.shift()]).toEqual([0, undefined]);
    ring.push(7);
    expect([ring.length, ring.at(0)]).toEqual([1, 7]);
  });

  it('lets go of what was taken', async () => {
    const ring = new Ring<object>();
    const taken = new WeakRef({});
    ring.push(taken.deref()!);
    ring.shift();
    await vi.waitFor(() => {
      collectGarbage();
      // Not the object itself: a failed expectation would hold it.
      expect(taken.deref() === undefined).toBe(true);
    });
    expect(ring.length).toBe(0);
  });

  it('behaves like an array under any sequence of pushes and shifts, beyond its first capacity too', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer(), { nil: undefined, freq: 3 }), { maxLength: 200 }), (steps) => {
        const ring = new Ring<number>();
        const model: number[] = [];
        for (const item of steps) {
          if (item === undefined) expect(ring.shift()).toBe(model.shift());
          else {
            ring.push(item);
            model.push(item);
          }
          expect(ring.length).toBe(model.length);
          expect(model.map((_, index) => ring.at(index))).toEqual(model);
        }
      }),
    );
  });
});
