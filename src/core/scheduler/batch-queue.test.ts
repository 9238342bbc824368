import { describe, expect, it } from 'vitest';

import {
  batchesAt,
  compatible,
  enqueueRows,
  idsOf,
  queueOf,
  request,
  told,
  type Request,
} from '../../../test/support/queued-requests.js';
import { completeBatcher } from '../../model/complete-batcher.js';
import type { DynamicBatcher } from '../../model/model-config.js';
import { BatchQueue } from './batch-queue.js';

describe('BatchQueue without a delay', () => {
  it.each([
    ['one request goes at once', [1], ['a']],
    ['the whole queue goes', [1, 1, 1], ['abc']],
    ['up to the maximum batch size', [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], ['abcdefgh', 'ij']],
    [
      'the first that does not fit ends the batch, later smaller ones never pass it',
      [3, 6, 1, 4, 1],
      ['a', 'bc', 'de'],
    ],
    ['a request of the maximum size goes alone', [8, 1, 8], ['a', 'b', 'c']],
    ['a sum of exactly the maximum fits', [3, 5, 1], ['ab', 'c']],
  ])('%s', (_, rows, expected) => {
    const queue = queueOf({});
    enqueueRows(queue, rows);
    expect(batchesAt(queue, 0)).toEqual(expected);
  });

  it('gives 3 | 2+1 | 4 | 1 for 3, 2, 1, 4, 1 with a maximum of 4', () => {
    const queue = queueOf({}, 4);
    enqueueRows(queue, [3, 2, 1, 4, 1]);
    expect(batchesAt(queue, 0)).toEqual(['a', 'bc', 'd', 'e']);
  });

  it('counts the rows of a batch', () => {
    const queue = queueOf({});
    enqueueRows(queue, [3, 4, 2]);
    expect(queue.next(0)).toMatchObject({ kind: 'run', rows: 7, reason: 'full' });
    expect(queue.next(0)).toMatchObject({ kind: 'run', rows: 2, reason: 'idle' });
    expect(queue.next(0)).toEqual({ kind: 'idle' });
  });

  it('takes a later arrival into the batch as long as it is not decided', () => {
    const queue = queueOf({});
    queue.enqueue(request('a'), 0);
    queue.enqueue(request('b'), 7);
    expect(told(queue.next(9))).toBe('ab idle');
  });
});

describe('BatchQueue without a dynamic batcher', () => {
  it('runs requests alone, first come first served, whatever their priority', () => {
    const queue = queueOf(null);
    queue.enqueue(request('a', { priority: 3 }), 0);
    queue.enqueue(request('b', { priority: 1, rows: 4 }), 0);
    queue.enqueue(request('c'), 0);
    expect([told(queue.next(0)), told(queue.next(0)), told(queue.next(0))]).toEqual([
      'a single',
      'b single',
      'c single',
    ]);
  });

  it("knows no limits: neither a size nor a request's own timeout", () => {
    const queue = queueOf(null);
    for (let i = 0; i < 1000; i++) queue.enqueue(request('a', { timeout: 1 }), 0);
    expect(queue.size).toBe(1000);
    expect(queue.nextExpiry()).toBe(Infinity);
    expect(queue.expire(1e9)).toEqual([]);
  });

  it('serves a model without a batch axis, whose maximum batch size is 0', () => {
    const queue = new BatchQueue<Request>({ maxBatchSize: 0, batcher: undefined, compatible });
    queue.enqueue(request('a'), 0);
    queue.enqueue(request('b'), 0);
    expect(batchesAt(queue, 0)).toEqual(['a', 'b']);
  });
});

describe('BatchQueue with preferred sizes', () => {
  it.each([
    ['the largest preferred size reached wins', [2, 4], [1, 1, 1, 1, 1, 1, 1], ['abcd', 'ef', 'g']],
    ['a smaller one wins when the largest is not reached', [2, 4], [1, 1, 1], ['ab', 'c']],
    ['a rest that reaches none goes all the same', [4], [1, 1, 1, 1, 1, 1], ['abcd', 'ef']],
    ['the order in which sizes are given does not matter', [6, 4], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], ['abcdef', 'ghij']],
    ['what fits goes where no sum is a preferred size', [4], [3, 2, 1, 3], ['abc', 'd']],
    ['also where the first is above the largest', [4], [5, 2, 1], ['abc']],
    ['one that does not fit is left for the next batch', [4], [1, 8, 1], ['a', 'b', 'c']],
    ['a preferred size is taken once it is passed, too', [4], [3, 1, 2, 2], ['ab', 'cd']],
    ['rows, not requests, are counted', [2, 4], [1, 2, 2], ['abc']],
    ['a preferred sum within, although more would fit', [2, 4], [2, 3], ['a', 'b']],
  ])('%s', (_, preferredBatchSize, rows, expected) => {
    const queue = queueOf({ preferredBatchSize });
    enqueueRows(queue, rows);
    expect(batchesAt(queue, 0)).toEqual(expected);
  });
});

describe('BatchQueue with a delay', () => {
  const DELAY = { maxQueueDelayMicroseconds: 500_000 };

  it('waits until the oldest request has waited for the delay, counted from its arrival', () => {
    const queue = queueOf(DELAY, 4);
    queue.enqueue(request('a'), 10);
    expect(told(queue.next(10))).toBe('wait until 510');
    queue.enqueue(request('b'), 200);
    expect(told(queue.next(200))).toBe('wait until 510');
    expect(told(queue.next(509.999))).toBe('wait until 510');
    expect(told(queue.next(510))).toBe('ab delay');
  });

  it('does not ask to wait again at the very moment it asked to wait for', () => {
    const queue = queueOf({ maxQueueDelayMicroseconds: 100 });
    for (const arrival of [0.3, 1.1, 123456.789, 86_400_000.1, 0.1 + 0.2]) {
      queue.enqueue(request('a'), arrival);
      const decision = queue.next(arrival);
      if (decision.kind !== 'wait') throw new Error(`expected to wait, got ${told(decision)}`);
      expect(told(queue.next(decision.until))).toBe('a delay');
    }
  });

  it('sends a full batch at once and lets the rest wait for its own age', () => {
    const queue = queueOf(DELAY, 4);
    enqueueRows(queue, [1, 1, 1, 1]);
    queue.enqueue(request('e'), 320);
    expect(told(queue.next(320))).toBe('abcd full');
    expect(told(queue.next(320))).toBe('wait until 820');
  });

  it.each([
    ['a preferred size is reached', { preferredBatchSize: [4] }, [1, 1, 1, 1], 'abcd preferred'],
    ['the next would pass the largest preferred size', { preferredBatchSize: [4] }, [3, 2], 'a preferred'],
    ['a single one is at the largest preferred size', { preferredBatchSize: [4] }, [4], 'a preferred'],
    ['a single one is above it', { preferredBatchSize: [4] }, [5], 'a preferred'],
    ['a single one has the maximum size', { preferredBatchSize: [4] }, [8], 'a full'],
    ['a smaller preferred size is reached', { preferredBatchSize: [2, 4] }, [1, 1, 1], 'ab preferred'],
    ['a preferred size is reached and more wait', { preferredBatchSize: [2] }, [1, 1, 1, 1], 'ab preferred'],
    ['a preferred size is reached and more than fit wait', { preferredBatchSize: [4] }, [4, 4, 4], 'a preferred'],
    ['the next does not fit', {}, [5, 4], 'a full'],
  ])('sends before the delay is over when %s', (_, batcher, rows, expected) => {
    const queue = queueOf({ ...DELAY, ...batcher });
    enqueueRows(queue, rows);
    expect(told(queue.next(0))).toBe(expected);
  });

  it.each([
    ['a sum that is no preferred size', [2, 4], [1, 2]],
    ['a single one between two preferred sizes', [2, 4], [3]],
  ])('waits on with %s', (_, preferredBatchSize, rows) => {
    const queue = queueOf({ ...DELAY, preferredBatchSize });
    enqueueRows(queue, rows);
    expect(told(queue.next(0))).toBe('wait until 500');
  });

  it('sends as much as fits once the delay is over, although a preferred size was reached on the way', () => {
    const queue = queueOf({ ...DELAY, preferredBatchSize: [4] });
    enqueueRows(queue, [1, 1, 1, 1, 1, 1]);
    expect(told(queue.next(500))).toBe('abcdef delay');
  });

  it('counts the age of the next when the oldest is cancelled', () => {
    const queue = queueOf(DELAY, 4);
    const oldest = request('a');
    queue.enqueue(oldest, 0);
    queue.enqueue(request('b'), 200);
    queue.remove(oldest);
    expect(told(queue.next(300))).toBe('wait until 700');
  });

  it('counts the age of a less urgent request when an urgent one came later', () => {
    const queue = queueOf({ ...DELAY, priorityLevels: 2, defaultPriorityLevel: 2 });
    queue.enqueue(request('a'), 0);
    queue.enqueue(request('b', { priority: 1 }), 400);
    expect(told(queue.next(400))).toBe('wait until 500');
    expect(told(queue.next(500))).toBe('ba delay');
  });

  it('asks to be called for a timeout that comes before the delay is over', () => {
    const queue = queueOf({ ...DELAY, defaultQueuePolicy: { defaultTimeoutMicroseconds: 100_000 } });
    queue.enqueue(request('a'), 0);
    expect(told(queue.next(0))).toBe('wait until 100');
    expect(idsOf(queue.expire(100))).toBe('a');
    expect(told(queue.next(100))).toBe('idle');
  });
});

describe('BatchQueue that is asked again and again while it waits', () => {
  it('looks at each request once', () => {
    let compared = 0;
    const batcher = completeBatcher({ maxQueueDelayMicroseconds: 1e6 }, 10_000, "model 'm'");
    const queue = new BatchQueue<Request>({
      maxBatchSize: 10_000,
      batcher,
      compatible: () => {
        compared++;
        return true;
      },
    });
    for (let i = 0; i < 9999; i++) {
      queue.enqueue(request(''), 0);
      expect(queue.next(0).kind).toBe('wait');
    }
    expect(compared).toBe(9998);
    queue.enqueue(request(''), 0);
    expect(queue.next(0)).toMatchObject({ kind: 'run', rows: 10_000, reason: 'full' });
  });

  it.each<[string, (queue: BatchQueue<Request>, waiting: Request[]) => void, string]>([
    ['more urgent ones come', (queue) => queue.enqueue(request('u', { priority: 1, rows: 6 }), 0), 'u full'],
    ['less urgent ones come', (queue) => queue.enqueue(request('l', { priority: 3, rows: 6 }), 0), 'ab full'],
    ['one of them goes', (queue, [a]) => void queue.remove(a!), 'wait until 1000'],
    ['one of them expires', (queue) => void queue.expire(100), 'wait until 1000'],
    ['one that may not join comes', (queue) => queue.enqueue(request('o', { kind: 'wide' }), 0), 'ab shape'],
  ])('decides anew when %s', (_, change, expected) => {
    const queue = queueOf({
      maxQueueDelayMicroseconds: 1e6,
      priorityLevels: 3,
      defaultPriorityLevel: 2,
      defaultQueuePolicy: { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 1e9, allowTimeoutOverride: true },
    });
    const waiting = [request('a', { rows: 5, timeout: 100 }), request('b')];
    for (const each of waiting) {
      queue.enqueue(each, 0);
      expect(queue.next(0).kind).toBe('wait');
    }
    change(queue, waiting);
    expect(told(queue.next(100))).toBe(expected);
  });
});

describe('BatchQueue with inputs that do not mix', () => {
  it.each([
    ['alternating', ['x', 'y', 'x', 'y'], ['a', 'b', 'c', 'd']],
    ['in pairs', ['x', 'x', 'y', 'y', 'x'], ['ab', 'cd', 'e']],
  ])('ends the batch at other inputs and reorders nothing: %s', (_, kinds, expected) => {
    const queue = queueOf({});
    kinds.forEach((kind, index) => queue.enqueue(request(String.fromCharCode(97 + index), { kind }), 0));
    expect(batchesAt(queue, 0)).toEqual(expected);
  });

  it('sends at other inputs even when the delay is not over: the batch cannot grow', () => {
    const queue = queueOf({ maxQueueDelayMicroseconds: 300_000 });
    queue.enqueue(request('a', { kind: 'x' }), 0);
    queue.enqueue(request('b', { kind: 'x' }), 50);
    queue.enqueue(request('c', { kind: 'y' }), 100);
    expect(told(queue.next(100))).toBe('ab shape');
    expect(told(queue.next(100))).toBe('wait until 400');
  });
});

describe('BatchQueue with priorities', () => {
  const LEVELS = { priorityLevels: 3, defaultPriorityLevel: 2 };

  it('takes urgent levels first, mixes levels in one batch and keeps the order within a level', () => {
    const queue = queueOf(LEVELS, 4);
    const arrivals: [string, number][] = [
      ['a', 3],
      ['b', 1],
      ['c', 2],
      ['d', 1],
      ['e', 3],
      ['f', 2],
    ];
    for (const [id, priority] of arrivals) queue.enqueue(request(id, { priority }), 0);
    expect(batchesAt(queue, 0)).toEqual(['bdcf', 'ae']);
  });

  it.each([0, 4, 1e9])('puts a request of priority %d on the default level', (priority) => {
    const queue = queueOf(LEVELS, 1);
    queue.enqueue(request('a', { priority: 3 }), 0);
    queue.enqueue(request('b', { priority }), 0);
    queue.enqueue(request('c', { priority: 2 }), 0);
    queue.enqueue(request('d', { priority: 1 }), 0);
    expect(batchesAt(queue, 0)).toEqual(['d', 'b', 'c', 'a']);
  });

  it('goes on with lower levels until the first that does not fit', () => {
    const queue = queueOf({ priorityLevels: 2, defaultPriorityLevel: 2 }, 4);
    queue.enqueue(request('a', { rows: 2, priority: 1 }), 0);
    queue.enqueue(request('b', { rows: 3, priority: 1 }), 0);
    queue.enqueue(request('c', { rows: 1, priority: 2 }), 0);
    queue.enqueue(request('d', { rows: 1, priority: 2 }), 0);
    expect(batchesAt(queue, 0)).toEqual(['a', 'bc', 'd']);
  });

  it('knows no ageing: what is urgent keeps coming first', () => {
    const queue = queueOf(LEVELS, 1);
    queue.enqueue(request('a', { priority: 3 }), 0);
    for (let now = 1; now <= 50; now++) {
      queue.enqueue(request('u', { priority: 1 }), now);
      expect(told(queue.next(now))).toBe('u full');
    }
    expect(told(queue.next(51))).toBe('a full');
  });

  it('ignores priorities where there are no levels', () => {
    const queue = queueOf({}, 1);
    queue.enqueue(request('a', { priority: 9 }), 0);
    queue.enqueue(request('b', { priority: 1 }), 0);
    expect(batchesAt(queue, 0)).toEqual(['a', 'b']);
  });
});

describe('BatchQueue with a queue size', () => {
  it("refuses one more than the size with Triton's words, and takes one again when there is room", () => {
    const queue = queueOf({ defaultQueuePolicy: { maxQueueSize: 2 } });
    const [first] = enqueueRows(queue, [4, 4]);
    expect(() => queue.enqueue(request('c'), 0)).toThrow(
      expect.objectContaining({ code: 'UNAVAILABLE', message: '[request id: c] Exceeds maximum queue size' }),
    );
    expect(() => queue.enqueue(request(''), 0)).toThrow('[request id: <id_unknown>] Exceeds maximum queue size');
    expect(queue.size).toBe(2);
    queue.remove(first!);
    queue.enqueue(request('d'), 0);
    expect(batchesAt(queue, 0)).toEqual(['bd']);
  });

  it('counts each level by itself, under its own policy', () => {
    const queue = queueOf({
      priorityLevels: 2,
      defaultPriorityLevel: 2,
      defaultQueuePolicy: { maxQueueSize: 1 },
      priorityQueuePolicy: { 1: { maxQueueSize: 2 } },
    });
    queue.enqueue(request('a', { priority: 2 }), 0);
    queue.enqueue(request('b', { priority: 1 }), 0);
    queue.enqueue(request('c', { priority: 1 }), 0);
    expect(() => queue.enqueue(request('d', { priority: 1 }), 0)).toThrow('Exceeds maximum queue size');
    expect(() => queue.enqueue(request('e', { priority: 2 }), 0)).toThrow('Exceeds maximum queue size');
  });

  it('counts the delayed ones too', () => {
    const policy = { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 100_000, maxQueueSize: 2 } as const;
    const queue = queueOf({ defaultQueuePolicy: policy });
    queue.enqueue(request('a'), 0);
    expect(queue.expire(150)).toEqual([]);
    queue.enqueue(request('b'), 150);
    expect(() => queue.enqueue(request('c'), 150)).toThrow('Exceeds maximum queue size');
  });
});

describe('BatchQueue with timeouts', () => {
  const policy = (timeout: number, more: object = {}): DynamicBatcher => ({
    defaultQueuePolicy: { defaultTimeoutMicroseconds: timeout * 1000, ...more },
  });

  it('takes expired requests out, in the order of their deadlines', () => {
    const queue = queueOf(policy(300, { allowTimeoutOverride: true }));
    queue.enqueue(request('a'), 0);
    queue.enqueue(request('b', { timeout: 50 }), 10);
    queue.enqueue(request('c'), 20);
    expect(queue.nextExpiry()).toBe(60);
    expect(idsOf(queue.expire(59.9))).toBe('');
    expect(idsOf(queue.expire(60))).toBe('b');
    expect(queue.nextExpiry()).toBe(300);
    expect(idsOf(queue.expire(1000))).toBe('ac');
    expect([queue.size, queue.nextExpiry()]).toEqual([0, Infinity]);
  });

  it('keeps the order of arrival among requests that expire at the same moment', () => {
    const queue = queueOf(policy(10));
    for (const id of 'abcdefghij') queue.enqueue(request(id), 0);
    expect(idsOf(queue.expire(10))).toBe('abcdefghij');
  });

  it.each([
    ['shortens the default', 300, true, 50, 50],
    ['does not lengthen it', 300, true, 1000, 300],
    ['of zero means the default', 300, true, 0, 300],
    ['counts for nothing where it is not allowed', 300, false, 50, 300],
    ['counts for nothing where the default is none', 0, true, 50, Infinity],
  ])("a request's own timeout %s", (_, standard, allowTimeoutOverride, timeout, expected) => {
    const queue = queueOf(policy(standard, { allowTimeoutOverride }));
    queue.enqueue(request('a', { timeout }), 0);
    expect(queue.nextExpiry()).toBe(expected);
  });

  it('forgets the deadline of a request that left', () => {
    const queue = queueOf(policy(100));
    const [a] = enqueueRows(queue, [1, 8]);
    queue.remove(a!);
    expect(told(queue.next(50))).toBe('b full');
    expect(queue.nextExpiry()).toBe(Infinity);
    expect(queue.expire(1000)).toEqual([]);
  });

  it('moves expired requests behind the unexpired ones when the action is DELAY, in order, once', () => {
    const queue = queueOf(policy(100, { timeoutAction: 'DELAY' }), 2);
    for (const [id, now] of [
      ['a', 20],
      ['b', 40],
      ['c', 60],
      ['d', 250],
    ] as const)
      queue.enqueue(request(id), now);
    expect(queue.expire(300)).toEqual([]);
    expect(queue.size).toBe(4);
    expect(queue.nextExpiry()).toBe(350);
    expect(batchesAt(queue, 300)).toEqual(['da', 'bc']);
  });

  it('lets later arrivals pass the delayed ones', () => {
    const queue = queueOf(policy(100, { timeoutAction: 'DELAY' }), 2);
    for (const id of 'ab') queue.enqueue(request(id), 0);
    queue.expire(100);
    for (const id of 'cd') queue.enqueue(request(id), 150);
    expect(batchesAt(queue, 150)).toEqual(['cd', 'ab']);
  });

  it('takes a later arrival before a delayed one that was looked at already', () => {
    const queue = queueOf({ ...policy(100, { timeoutAction: 'DELAY' }), maxQueueDelayMicroseconds: 500_000 }, 4);
    queue.enqueue(request('a'), 0);
    queue.expire(100);
    expect(told(queue.next(100))).toBe('wait until 500');
    queue.enqueue(request('b'), 450);
    expect(told(queue.next(500))).toBe('ba delay');
  });

  it('keeps delayed requests before lower levels', () => {
    const queue = queueOf(
      {
        priorityLevels: 2,
        defaultPriorityLevel: 2,
        priorityQueuePolicy: { 1: { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 100_000 } },
      },
      2,
    );
    for (const [id, priority] of [
      ['a', 1],
      ['b', 2],
      ['c', 2],
      ['d', 1],
    ] as const)
      queue.enqueue(request(id, { priority }), 0);
    queue.enqueue(request('e', { priority: 1 }), 270);
    expect(queue.expire(300)).toEqual([]);
    expect(batchesAt(queue, 300)).toEqual(['ea', 'db', 'c']);
  });

  it('takes a delayed request out when it is cancelled', () => {
    const queue = queueOf(policy(100, { timeoutAction: 'DELAY' }), 2);
    const requests = enqueueRows(queue, [1, 1, 1]);
    queue.expire(100);
    expect(queue.remove(requests[1]!)).toBe(true);
    expect(batchesAt(queue, 100)).toEqual(['ac']);
  });
});

describe('BatchQueue and requests that leave', () => {
  it('tells whether a request was waiting', () => {
    const queue = queueOf({});
    const [a, b] = enqueueRows(queue, [1, 1]);
    expect([queue.remove(a!), queue.remove(a!), queue.size]).toEqual([true, false, 1]);
    expect(told(queue.next(0))).toBe('b idle');
    expect(queue.remove(b!)).toBe(false);
    expect(queue.remove(request('never'))).toBe(false);
  });

  it('is empty after a drain, which gives the urgent ones first', () => {
    const queue = queueOf({
      priorityLevels: 2,
      defaultPriorityLevel: 2,
      defaultQueuePolicy: { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 1000 },
    });
    queue.enqueue(request('a'), 0);
    queue.expire(1);
    queue.enqueue(request('b'), 1);
    queue.enqueue(request('c', { priority: 1 }), 1);
    expect(idsOf(queue.drain())).toBe('cba');
    expect([queue.size, queue.nextExpiry(), told(queue.next(9))]).toEqual([0, Infinity, 'idle']);
    expect(queue.drain()).toEqual([]);
  });
});
