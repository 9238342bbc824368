import { describe, expect, it } from 'vitest';

import { Queue } from './queue.js';

describe('a queue', () => {
  it('gives items in the order in which they came, whatever is taken in between', () => {
    const queue = new Queue<number>();
    const taken: (number | undefined)[] = [];
    let next = 0;
    for (let round = 0; round < 100; round++) {
      for (let i = 0; i < (round * 37) % 101; i++) expect(queue.push(next)).toBe(++next - taken.length);
      for (let i = (round * 53) % 97; i > 0 && queue.length > 0; i--) taken.push(queue.shift());
    }
    while (queue.length > 0) taken.push(queue.shift());
    expect(taken).toEqual(Array.from({ length: next }, (_, i) => i));
    expect(queue.shift()).toBeUndefined();
  });

  it('is empty once it is cleared, and takes new items', () => {
    const queue = new Queue<string>();
    queue.push('old');
    queue.push('older');
    queue.shift();
    queue.clear();
    expect([queue.length, queue.push('new'), queue.shift(), queue.length]).toEqual([0, 1, 'new', 0]);
  });
});
