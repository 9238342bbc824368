import { describe, expect, it } from 'vitest';

import type { HostedRequest } from '../model/inference-request.js';
import type { PacedWork } from '../pacing/paced-work.js';
import { CallableTurns } from './callable-turns.js';

// eslint-disable-next-line require-yield
function* unpacked(): PacedWork<readonly HostedRequest[]> {
  return [];
}

/** Begins batches by name, and tells which have begun and who was cancelled. */
function turns(concurrency: number) {
  const gate = new CallableTurns(concurrency);
  const events: string[] = [];
  return {
    events,
    end: () => gate.end(),
    begin: (name: string) =>
      gate.begin(unpacked(), {
        execute() {
          events.push(name);
          return {
            cancel: (index) => void events.push(`${name} without ${index}`),
            cancelAll: () => void events.push(`${name} without any`),
          };
        },
        failed: () => expect.unreachable(),
      }),
  };
}

describe('CallableTurns', () => {
  it('lets so many begin at once, and the others in order when one has ended', () => {
    const { begin, end, events } = turns(2);
    for (const name of ['a', 'b', 'c', 'd']) begin(name);
    expect(events).toEqual(['a', 'b']);
    end();
    end();
    expect(events).toEqual(['a', 'b', 'c', 'd']);
    end();
    end();
    begin('e');
    begin('f');
    begin('g');
    expect(events).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('begins one that ends before it has begun to be known, as synchronous callables do', () => {
    const gate = new CallableTurns(1);
    const done: number[] = [];
    for (let i = 0; i < 3; i++) {
      gate.begin(unpacked(), {
        execute() {
          done.push(i);
          gate.end();
          return { cancel: () => undefined, cancelAll: () => undefined };
        },
        failed: () => expect.unreachable(),
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
    end();
    second.cancel(2);
    end();
    expect(events).toEqual(['a', 'a without 0', 'b', 'b without 1', 'b without 2', 'c', 'c without any']);
  });
});
