import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { LinkedList, type Linked } from './linked-list.js';

class Item implements Linked<Item> {
  readonly value: number;
  previous: Item | undefined = undefined;
  next: Item | undefined = undefined;

  constructor(value: number) {
    this.value = value;
  }
}

function valuesOf(list: LinkedList<Item>): number[] {
  const values: number[] = [];
  for (let item = list.first; item !== undefined; item = item.next) values.push(item.value);
  return values;
}

describe('LinkedList', () => {
  it('keeps the order of arrival when items leave from the front, the middle and the end', () => {
    const list = new LinkedList<Item>();
    const [a, b, c, d, e] = [1, 2, 3, 4, 5].map((value) => new Item(value)) as [Item, Item, Item, Item, Item];
    for (const item of [a, b, c, d, e]) list.push(item);
    list.remove(c);
    list.remove(a);
    list.remove(e);
    expect(valuesOf(list)).toEqual([2, 4]);
    list.push(c);
    expect(valuesOf(list)).toEqual([2, 4, 3]);
  });

  it('lets go of an item that left, so that neither keeps the other alive', () => {
    const list = new LinkedList<Item>();
    const [a, b] = [new Item(1), new Item(2)];
    list.push(a);
    list.push(b);
    list.remove(a);
    expect([a.previous, a.next, b.previous, b.next]).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('behaves like an array under any sequence of additions and removals', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 100 }), (steps) => {
        const list = new LinkedList<Item>();
        const model: Item[] = [];
        for (const [add, number] of steps) {
          if (add || model.length === 0) {
            const item = new Item(number);
            list.push(item);
            model.push(item);
          } else {
            list.remove(model.splice(number % model.length, 1)[0]!);
          }
          expect(valuesOf(list)).toEqual(model.map(({ value }) => value));
        }
      }),
    );
  });
});
