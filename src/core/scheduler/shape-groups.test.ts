import { describe, expect, it } from 'vitest';

import { batchesAt, idsOf, queueOf, request, type Request, told } from '../../../test/support/queued-requests.js';
import type { DynamicBatcher } from '../../model/model-config.js';
import type { BatchQueue } from './batch-queue.js';

/** Requests named by their shapes and numbers: `a1`, `b2`, … */
function queueWith(batcher: DynamicBatcher, ids: readonly string[], maxBatchSize = 8): BatchQueue<Request> {
  const queue = queueOf({ groupByShape: true, ...batcher }, maxBatchSize);
  for (const id of ids) queue.enqueue(request(id, { kind: id[0]! }), 0);
  return queue;
}

describe('a queue with a group for each shape', () => {
  it('fills batches from requests whose shapes are mixed, the shape of the oldest request first', () => {
    const queue = queueWith({}, ['a1', 'b1', 'a2', 'c1', 'b2', 'a3']);
    expect(batchesAt(queue, 0)).toEqual(['a1a2a3', 'b1b2', 'c1']);
    expect(queue.size).toBe(0);
  });

  it('runs 36 lines of text of 8 widths in as many batches as their rows need', () => {
    const ids = Array.from({ length: 36 }, (_, index) => `${'abcdefgh'[(index * 5) % 8]}${index}`);
    expect(batchesAt(queueWith({}, ids), 0)).toHaveLength(8);
    expect(batchesAt(queueWith({ groupByShape: false }, ids), 0)).toHaveLength(36);
  });

  it('leaves what exceeds a batch in front of younger requests of other shapes', () => {
    const queue = queueWith({}, ['a1', 'a2', 'a3', 'b1', 'a4'], 2);
    expect(batchesAt(queue, 0)).toEqual(['a1a2', 'a3a4', 'b1']);
  });

  it('runs the shape of the most urgent request first', () => {
    const queue = queueWith({ priorityLevels: 2, defaultPriorityLevel: 2 }, ['a1', 'b1']);
    queue.enqueue(request('b2', { kind: 'b', priority: 1 }), 1);
    expect(batchesAt(queue, 1)).toEqual(['b2b1', 'a1']);
  });

  it('runs a full batch while older requests of another shape wait for theirs', () => {
    const queue = queueWith({ maxQueueDelayMicroseconds: 10_000 }, ['a1'], 2);
    queue.enqueue(request('b1', { kind: 'b' }), 4);
    expect(told(queue.next(4))).toBe('wait until 10');
    queue.enqueue(request('b2', { kind: 'b' }), 5);
    expect(told(queue.next(5))).toBe('b1b2 full');
    expect(told(queue.next(6))).toBe('wait until 10');
    expect(told(queue.next(10))).toBe('a1 delay');
    expect(told(queue.next(10))).toBe('idle');
  });

  it('runs the oldest of several shapes whose delays are over', () => {
    const queue = queueWith({ maxQueueDelayMicroseconds: 10_000 }, []);
    for (const [at, id] of ['c1', 'a1', 'b1', 'a2'].entries()) queue.enqueue(request(id, { kind: id[0]! }), at);
    expect(batchesAt(queue, 20)).toEqual(['c1', 'a1a2', 'b1']);
  });

  it('gives a shape ahead that could still grow, where another one waits behind it', () => {
    const queue = queueWith({}, ['a1', 'b1', 'a2']);
    const ahead = queue.nextClosed(0)!;
    expect(told(ahead)).toBe('a1a2 idle');
    // The last shape waits for more of its own while the instance works.
    expect(queue.nextClosed(0)).toBeUndefined();
    queue.enqueue(request('a3', { kind: 'a' }), 1);
    queue.restore(ahead);
    expect(batchesAt(queue, 2)).toEqual(['a1a2a3', 'b1']);
  });

  it('limits the requests of all shapes together', () => {
    const queue = queueWith({ defaultQueuePolicy: { maxQueueSize: 2 } }, ['a1', 'b1']);
    expect(() => queue.enqueue(request('c1', { kind: 'c' }), 0)).toThrow('Exceeds maximum queue size');
    queue.next(0);
    expect(() => queue.enqueue(request('c2', { kind: 'c' }), 0)).not.toThrow();
  });

  it('refuses requests of every shape whose time is over, soonest first', () => {
    const queue = queueWith({ defaultQueuePolicy: { defaultTimeoutMicroseconds: 5000 } }, []);
    for (const [at, id] of ['a1', 'b1', 'a2'].entries()) queue.enqueue(request(id, { kind: id[0]! }), at);
    expect(queue.nextExpiry()).toBe(5);
    expect(idsOf(queue.expire(6))).toBe('a1b1');
    expect(batchesAt(queue, 6)).toEqual(['a2']);
  });

  it('puts expired requests behind the unexpired of all shapes', () => {
    const policy = { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 5000 } as const;
    const queue = queueWith({ defaultQueuePolicy: policy }, ['a1']);
    queue.enqueue(request('b1', { kind: 'b' }), 3);
    expect(queue.expire(5)).toEqual([]);
    expect(batchesAt(queue, 5)).toEqual(['b1', 'a1']);
  });

  it('empties in the order of the requests', () => {
    const queue = queueWith({ priorityLevels: 2, defaultPriorityLevel: 2 }, ['a1', 'b1', 'a2']);
    queue.enqueue(request('c1', { kind: 'c', priority: 1 }), 0);
    expect(idsOf(queue.drain())).toBe('c1a1b1a2');
    expect([queue.size, told(queue.next(0))]).toEqual([0, 'idle']);
  });

  it.each([
    ['keeps the group of a shape between its requests', 10, true],
    ['forgets the groups of shapes that are gone, where they are many, also while nothing is decided', 600, false],
  ])('%s', (_, shapes, isKept) => {
    const queue = queueWith({}, ['a1']);
    const pass = (kind: string) => {
      const passing = request(kind, { kind });
      queue.enqueue(passing, 0);
      const { group } = passing.entry!;
      queue.remove(passing);
      return group;
    };
    const first = pass('p0');
    for (let i = 1; i < shapes; i++) pass(`p${i}`);
    expect(pass('p0') === first).toBe(isKept);
    queue.enqueue(request('p0', { kind: 'p0' }), 0);
    expect(batchesAt(queue, 0)).toEqual(['a1', 'p0']);
  });
});
