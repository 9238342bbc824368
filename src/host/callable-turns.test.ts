import { describe, expect, it } from 'vitest';

import { CallableTurns } from './callable-turns.js';

/** Begins batches by name, and tells which have begun and who was cancelled. */
function turns(concurrency: number) {
  const gate = new CallableTurns(concurrency);
  const events: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    events,
    end: (name: string) => ends.get(name)!(),
    begin: (name: string) =>
      gate.begin((ended) => {
        events.push(name);
        ends.set(name, ended);
        return {
          cancel: (index) => void events.push(`${name} without ${index}`),
          cancelAll: () => void events.push(`${name} without any`),
        };
      }),
  };
}

describe('CallableTurns', () => {
  it('lets so many begin at once, and the others in order when one has ended', () => {
    const { begin, end, events } = turns(2);
    for (const name of ['a', 'b', 'c', 'd']) begin(name);
    expect(events).toEqual(['a', 'b']);
    end('b');
    end('a');
    expect(events).toEqual(['a', 'b', 'c', 'd']);
    end('c');
    end('d');
    begin('e');
    begin('f');
    begin('g');
    expect(events).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('begins one that ends before it has begun to be known, as synchronous callables do', () => {
    const gate = new CallableTurns(1);
    const done: number[] = [];
    for (let i = 0; i < 3; i++) {
      gate.begin((ended) => {
        done.push(i);
        ended();
        return { cancel: () => undefined, cancelAll: () => undefined };
      });
    }
    expect(done).toEqual([0, 1, 2]);
  });

  it('hands cancellations on, also those that come before the batch has begun', () => {
    const { begin, end, events } = turns(1);
    const first = begin('a');
    const [second, third] = [begin('b'), begin('c')];
    first.cancel(0);
    second.cancel(1);
    third.cancelAll();
    expect(events).toEqual(['a', 'a without 0']);
    end('a');
    second.cancel(2);
    end('b');
    expect(events).toEqual(['a', 'a without 0', 'b', 'b without 1', 'b without 2', 'c', 'c without any']);
  });
});
