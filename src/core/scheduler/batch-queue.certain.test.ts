import { describe, expect, it } from 'vitest';

import { enqueueRows, queueOf, request, told, type Request } from '../../../test/support/queued-requests.js';
import { type BatchQueue } from './batch-queue.js';

describe('BatchQueue asked for what comes next for certain', () => {
  /** The certain batch as `ab full`, or `nothing`. */
  function certain(queue: BatchQueue<Request>): string {
    const release = queue.nextForCertain();
    return release === undefined ? 'nothing' : told(release);
  }

  it('gives a full batch, which stays in the queue until it is taken', () => {
    const queue = queueOf({}, 4);
    enqueueRows(queue, [1, 2, 1, 3]);
    const release = queue.nextForCertain()!;
    expect([told(release), release.rows, queue.size]).toEqual(['abc full', 4, 4]);
    queue.take(release);
    expect([queue.size, certain(queue), told(queue.next(0))]).toEqual([1, 'nothing', 'd idle']);
  });

  it.each([
    { what: 'no request', rows: [], expected: 'nothing' },
    { what: 'rows that do not fill it', rows: [1, 2], expected: 'nothing' },
    { what: 'rows that fill it exactly', rows: [2, 2], expected: 'ab full' },
    { what: 'a next request that does not fit', rows: [3, 2], expected: 'a full' },
    { what: 'more than fill it', rows: [1, 1, 1, 1, 1], expected: 'abcd full' },
  ])('with $what it is $expected', ({ rows, expected }) => {
    const queue = queueOf({}, 4);
    enqueueRows(queue, rows);
    expect(certain(queue)).toBe(expected);
  });

  it('gives one request where there is no dynamic batcher', () => {
    const queue = queueOf(null);
    expect(certain(queue)).toBe('nothing');
    enqueueRows(queue, [1, 1]);
    expect(certain(queue)).toBe('a single');
  });

  it.each([
    { what: 'a more urgent one could come', batcher: { priorityLevels: 2, defaultPriorityLevel: 1 } },
    { what: 'the batch is cut at a smaller preferred size', batcher: { preferredBatchSize: [2] } },
  ])('gives nothing where $what', ({ batcher }) => {
    const queue = queueOf(batcher, 4);
    enqueueRows(queue, [1, 1, 2]);
    expect(certain(queue)).toBe('nothing');
  });

  it('gives nothing where the next has another shape', () => {
    const queue = queueOf({}, 4);
    for (const [index, kind] of ['x', 'x', 'y', 'y', 'y'].entries()) queue.enqueue(request(String(index), { kind }), 0);
    expect(certain(queue)).toBe('nothing');
  });

  it('gives nothing while an expired request is among the first: later ones go before it', () => {
    const queue = queueOf({ defaultQueuePolicy: { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 5000 } }, 4);
    enqueueRows(queue, [1, 1]);
    queue.expire(5);
    enqueueRows(queue, [1, 1], 5);
    expect(certain(queue)).toBe('nothing');
    enqueueRows(queue, [2], 5);
    expect(certain(queue)).toBe('aba full');
  });
});
