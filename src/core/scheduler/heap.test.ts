import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Heap, type HeapItem } from './heap.js';
import { type Deadline, isSooner } from './queue-entry.js';

type Expiring = HeapItem & Deadline;

function entry(expiresAt: number, sequence = 0): Expiring {
  return { expiresAt, sequence, heapIndex: -1 };
}

function drain(heap: Heap<Expiring>): Expiring[] {
  const drained: Expiring[] = [];
  for (let { first } = heap; first !== undefined; first = heap.first) {
    heap.remove(first);
    drained.push(first);
  }
  return drained;
}

describe('a heap of deadlines', () => {
  it('shows the soonest deadline', () => {
    const heap = new Heap<Expiring>(isSooner);
    expect(heap.first).toBeUndefined();
    for (const time of [30, 10, 20]) heap.push(entry(time));
    expect(heap.first?.expiresAt).toBe(10);
    expect(drain(heap).map(({ expiresAt }) => expiresAt)).toEqual([10, 20, 30]);
  });

  it('keeps the order of arrival among equal deadlines', () => {
    const heap = new Heap<Expiring>(isSooner);
    for (const sequence of [0, 1, 2, 3, 4, 5, 6, 7]) heap.push(entry(5, sequence));
    expect(drain(heap).map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('ignores the removal of an entry that it does not hold', () => {
    const heap = new Heap<Expiring>(isSooner);
    const [held, gone] = [entry(1), entry(2)];
    heap.push(held);
    heap.push(gone);
    heap.remove(gone);
    heap.remove(gone);
    expect(drain(heap)).toEqual([held]);
  });

  it('moves an entry up that took the place of one below a later deadline', () => {
    const heap = new Heap<Expiring>(isSooner);
    // 50 is below 20, which is below 10; the last one, 4, is sooner than both.
    const entries = [0, 10, 1, 20, 30, 2, 3, 40, 50, 60, 70, 4].map((time) => entry(time));
    for (const each of entries) heap.push(each);
    heap.remove(entries[8]!);
    // So that others than it take the places of those that leave first.
    for (const time of [80, 90, 100, 110]) heap.push(entry(time));
    const times = drain(heap).map(({ expiresAt }) => expiresAt);
    expect(times).toEqual([0, 1, 2, 3, 4, 10, 20, 30, 40, 60, 70, 80, 90, 100, 110]);
  });

  it('stays sorted under any sequence of additions and removals from anywhere', () => {
    const step = fc.tuple(fc.constantFrom('add', 'remove'), fc.nat({ max: 20 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const heap = new Heap<Expiring>(isSooner);
        const model: Expiring[] = [];
        steps.forEach(([kind, number], sequence) => {
          if (kind === 'add') {
            const added = entry(number, sequence);
            heap.push(added);
            model.push(added);
          } else if (model.length > 0) {
            heap.remove(model.splice(number % model.length, 1)[0]!);
          }
        });
        model.sort((a, b) => a.expiresAt - b.expiresAt || a.sequence - b.sequence);
        expect(drain(heap)).toEqual(model);
      }),
    );
  });
});
