/* oxlint-disable vitest/no-conditional-expect, vitest/no-standalone-expect -- a property checks every step of a random sequence */
// What holds for the queue whatever comes: random settings and random sequences of arrivals, cancellations,
// expiries and decisions, checked against a list of what is waiting.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { growth, HARDLY_MORE_THAN_LINEAR, type Steps } from '../../../test/support/growth.js';
import { completeBatcher, type CompleteDynamicBatcher } from '../../model/complete-batcher.js';
import type { DynamicBatcher } from '../../model/model-config.js';
import { TritonError } from '../../errors.js';
import { BatchQueue } from './batch-queue.js';
import type { QueuedRequest } from './queue-entry.js';

class Request implements QueuedRequest {
  readonly id: string;
  readonly rows: number;
  readonly priority: number;
  readonly timeoutMicroseconds: number;
  readonly shape: number;
  entry: QueuedRequest['entry'] = undefined;
  /** How it left the queue; undefined while it waits. */
  left: 'ran' | 'cancelled' | 'expired' | 'drained' | undefined = undefined;
  arrivedAt = 0;

  constructor(sequence: number, { rows, priority, timeout, shape }: Arrival) {
    this.id = String(sequence);
    this.rows = rows;
    this.priority = priority;
    this.timeoutMicroseconds = timeout;
    this.shape = shape;
  }

  leave(how: NonNullable<Request['left']>): void {
    expect(this.left, `request ${this.id} leaves twice`).toBeUndefined();
    this.left = how;
  }
}

/** Counts whatever is done with its entry in the queue. */
class WatchedRequest extends Request {
  constructor(sequence: number, steps: Steps) {
    super(sequence, { rows: 1, priority: 0, timeout: 0, shape: 0 });
    let current: QueuedRequest['entry'];
    Object.defineProperty(this, 'entry', {
      get: () => current,
      set: (entry: QueuedRequest['entry']) => {
        current = entry && steps.watch(entry);
      },
    });
  }
}

interface Arrival {
  readonly rows: number;
  readonly priority: number;
  readonly timeout: number;
  readonly shape: number;
}

const arrival = fc.record({
  rows: fc.integer({ min: 1, max: 6 }),
  priority: fc.nat({ max: 4 }),
  timeout: fc.constantFrom(0, 1000, 5000),
  shape: fc.nat({ max: 2 }),
});

const step = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constant('arrive' as const), arrival) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('decide' as const), fc.constant(0)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('pass' as const), fc.nat({ max: 8 })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('cancel' as const), fc.nat()) },
);

const policy = fc.record({
  timeoutAction: fc.constantFrom('REJECT' as const, 'DELAY' as const),
  defaultTimeoutMicroseconds: fc.constantFrom(0, 3000, 10_000),
  allowTimeoutOverride: fc.boolean(),
  maxQueueSize: fc.constantFrom(0, 0, 5),
});

interface Settings {
  readonly maxBatchSize: number;
  readonly shapes: 'mix' | 'apart' | 'grouped';
  readonly batcher: CompleteDynamicBatcher;
}

const settings: fc.Arbitrary<Settings> = fc
  .record({
    maxBatchSize: fc.integer({ min: 6, max: 12 }),
    preferredBatchSize: fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 3 }),
    maxQueueDelayMicroseconds: fc.constantFrom(0, 0, 2000, 7000),
    priorityLevels: fc.constantFrom(0, 0, 3),
    defaultQueuePolicy: policy,
    urgentPolicy: policy,
    shapes: fc.constantFrom('mix' as const, 'apart' as const, 'grouped' as const),
  })
  .map(({ maxBatchSize, urgentPolicy, priorityLevels, shapes, ...rest }) => {
    const levels =
      priorityLevels === 0 ? {} : { priorityLevels, defaultPriorityLevel: 2, priorityQueuePolicy: { 1: urgentPolicy } };
    const batcher: DynamicBatcher = { ...rest, ...levels };
    return { maxBatchSize, shapes, batcher: completeBatcher(batcher, maxBatchSize, "model 'm'") };
  });

function queueOf({ maxBatchSize, shapes, batcher }: Settings): BatchQueue<Request> {
  return new BatchQueue<Request>({
    maxBatchSize,
    batcher,
    compatible: (first, next) => shapes === 'mix' || first.shape === next.shape,
    signatureOf: shapes === 'grouped' ? ({ shape }) => String(shape) : undefined,
  });
}

describe('BatchQueue', () => {
  it('keeps its promises under any sequence of arrivals, cancellations, expiries and decisions', () => {
    fc.assert(
      fc.property(settings, fc.array(step, { maxLength: 80 }), ({ maxBatchSize, shapes, batcher }, steps) => {
        const queue = queueOf({ maxBatchSize, shapes, batcher });
        const delay = batcher.maxQueueDelayMicroseconds / 1000;
        const delayed = new Set<Request>();
        let waiting: Request[] = [];
        let now = 0;
        const levelOf = ({ priority }: Request) =>
          batcher.priorityLevels === 0 ? 0 : priority < 1 || priority > batcher.priorityLevels ? 2 : priority;
        const policyOf = (request: Request) =>
          batcher.priorityQueuePolicy[levelOf(request)] ?? batcher.defaultQueuePolicy!;
        const deadlineOf = (request: Request) => {
          const { defaultTimeoutMicroseconds: standard, allowTimeoutOverride } = policyOf(request);
          const own = allowTimeoutOverride && request.timeoutMicroseconds > 0 ? request.timeoutMicroseconds : Infinity;
          return standard === 0 ? Infinity : request.arrivedAt + Math.min(standard, own) / 1000;
        };
        const expire = () => {
          const refused = queue.expire(now);
          const due = waiting.filter((request) => !delayed.has(request) && deadlineOf(request) <= now);
          for (const request of due) if (policyOf(request).timeoutAction === 'DELAY') delayed.add(request);
          expect(new Set(refused)).toEqual(new Set(due.filter((request) => !delayed.has(request))));
          for (const request of refused) request.leave('expired');
        };

        steps.forEach(([kind, value], sequence) => {
          if (kind === 'arrive') {
            const request = new Request(sequence, value);
            request.arrivedAt = now;
            const { maxQueueSize } = policyOf(request);
            const inLevel = waiting.filter((other) => levelOf(other) === levelOf(request)).length;
            try {
              queue.enqueue(request, now);
              expect(maxQueueSize === 0 || inLevel < maxQueueSize).toBe(true);
              waiting.push(request);
            } catch (error) {
              if (!TritonError.is(error)) throw error;
              expect(inLevel).toBe(maxQueueSize);
            }
          } else if (kind === 'pass') {
            now += value;
          } else if (kind === 'cancel') {
            const request = waiting[value % Math.max(1, waiting.length)];
            if (request !== undefined && queue.remove(request)) request.leave('cancelled');
          } else {
            expire();
            const decision = queue.next(now);
            if (decision.kind === 'wait') {
              expect(decision.until).toBeGreaterThan(now);
              expect(delay).toBeGreaterThan(0);
              // Nobody waits longer for others than the delay.
              for (const request of waiting)
                if (request.left === undefined) expect(decision.until).toBeLessThanOrEqual(request.arrivedAt + delay);
            }
            expect(decision.kind === 'idle').toBe(waiting.every((request) => request.left !== undefined));
            const { batch, rows } = decision.kind === 'run' ? decision : { batch: [], rows: 0 };
            expect(batch.length > 0).toBe(decision.kind === 'run');
            expect(rows).toBe(batch.reduce((sum, request) => sum + request.rows, 0));
            expect(rows).toBeLessThanOrEqual(maxBatchSize);
            for (const request of batch) request.leave('ran');
            if (shapes !== 'mix') expect(new Set(batch.map(({ shape }) => shape)).size).toBeLessThanOrEqual(1);
            // Exactly the first so many in the order of levels, unexpired before delayed, arrival.
            const order = [...waiting.filter((request) => request.left === undefined), ...batch].sort(
              (a, b) =>
                levelOf(a) - levelOf(b) ||
                Number(delayed.has(a)) - Number(delayed.has(b)) ||
                (delayed.has(a) ? deadlineOf(a) - deadlineOf(b) : 0) ||
                Number(a.id) - Number(b.id),
            );
            const queued = shapes === 'grouped' ? order.filter(({ shape }) => shape === batch[0]?.shape) : order;
            expect(batch).toEqual(queued.slice(0, batch.length));
            // A shape whose first request stands before this batch would rather wait for more requests.
            const ahead = order.slice(0, order.indexOf(batch[0]!)).map(({ shape }) => shape);
            for (const shape of new Set(ahead)) {
              const same = order.filter((request) => request.shape === shape);
              expect(same.every(({ arrivedAt }) => arrivedAt + delay > now)).toBe(true);
              expect(same.reduce((sum, request) => sum + request.rows, 0)).toBeLessThan(
                Math.max(...batcher.preferredBatchSize),
              );
            }
            // As many as go together, unless preferred sizes cut them down.
            const next = queued[batch.length];
            if (
              batch.length > 0 &&
              next !== undefined &&
              batcher.preferredBatchSize.every((size) => size === maxBatchSize)
            ) {
              expect(rows + next.rows > maxBatchSize || (shapes !== 'mix' && next.shape !== batch[0]!.shape)).toBe(
                true,
              );
            }
          }
          waiting = waiting.filter((request) => request.left === undefined);
          expect(queue.size).toBe(waiting.length);
        });

        for (const request of queue.drain()) request.leave('drained');
        expect(waiting.filter((request) => request.left === undefined)).toEqual([]);
        expect([queue.size, queue.nextExpiry(), queue.next(now).kind]).toEqual([0, Infinity, 'idle']);
      }),
      { numRuns: 500 },
    );
  });

  it('decides the same whatever it was asked before', () => {
    fc.assert(
      fc.property(settings, fc.array(step, { maxLength: 80 }), ({ maxBatchSize, shapes, batcher: given }, steps) => {
        // Without limits, so that a request may be in and out again.
        const batcher = completeBatcher(
          { ...given, defaultQueuePolicy: { ...given.defaultQueuePolicy, maxQueueSize: 0 }, priorityQueuePolicy: {} },
          maxBatchSize,
          "model 'm'",
        );
        const [queue, fresh] = [0, 1].map(() => queueOf({ maxBatchSize, shapes, batcher }));
        const pairs: (readonly [Request, Request])[] = [];
        let now = 0;
        steps.forEach(([kind, value], sequence) => {
          if (kind === 'arrive') {
            const pair = [new Request(sequence, value), new Request(sequence, value)] as const;
            pairs.push(pair);
            queue!.enqueue(pair[0], now);
            fresh!.enqueue(pair[1], now);
          } else if (kind === 'pass') {
            now += value;
          } else if (kind === 'cancel') {
            const pair = pairs[value % Math.max(1, pairs.length)];
            if (pair !== undefined) expect(queue!.remove(pair[0])).toBe(fresh!.remove(pair[1]));
          }
          const ids = (requests: readonly Request[]) => requests.map(({ id }) => id);
          expect(ids(queue!.expire(now))).toEqual(ids(fresh!.expire(now)));
          // A request that leaves makes a queue look at everything again.
          const passing = new Request(-1, { rows: 1, priority: 0, timeout: 0, shape: 0 });
          fresh!.enqueue(passing, now);
          fresh!.remove(passing);
          const [decision, expected] = [queue!.next(now), fresh!.next(now)];
          expect(decision.kind === 'run' ? [ids(decision.batch), decision.reason] : decision).toEqual(
            expected.kind === 'run' ? [ids(expected.batch), expected.reason] : expected,
          );
        });
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    [
      'in order',
      (queue: BatchQueue<Request>) => {
        while (queue.next(0).kind === 'run');
      },
    ],
    [
      'by cancellations from the middle',
      (queue: BatchQueue<Request>, requests: readonly Request[]) => {
        for (let i = 0; i < requests.length; i++) queue.remove(requests[(i * 7919) % requests.length]!);
      },
    ],
    ['by timeouts', (queue: BatchQueue<Request>) => queue.expire(1e9)],
  ])('takes very many requests and gives them up %s with hardly more work for each', (_, empty) => {
    const batcher = completeBatcher({ defaultQueuePolicy: { defaultTimeoutMicroseconds: 1e6 } }, 8, "model 'm'");
    const grown = growth(250, (count, steps) => {
      const queue = new BatchQueue<Request>({ maxBatchSize: 8, batcher, compatible: () => true });
      const requests = Array.from({ length: count }, (__, index) => new WatchedRequest(index, steps));
      return () => {
        for (const request of requests) queue.enqueue(request, 0);
        empty(queue, requests);
        expect(queue.size).toBe(0);
      };
    });
    expect(grown).toBeLessThan(HARDLY_MORE_THAN_LINEAR);
  });

  it('keeps nothing of requests that were cancelled behind one that stays', () => {
    const batcher = completeBatcher({ defaultQueuePolicy: { defaultTimeoutMicroseconds: 1e6 } }, 8, "model 'm'");
    const queue = new BatchQueue<Request>({ maxBatchSize: 8, batcher, compatible: () => true });
    const make = (sequence: number) => new Request(sequence, { rows: 1, priority: 0, timeout: 0, shape: 0 });
    const first = make(0);
    queue.enqueue(first, 0);
    for (let sequence = 1; sequence <= 1000; sequence++) {
      const request = make(sequence);
      queue.enqueue(request, 0);
      queue.remove(request);
      expect(request.entry).toBeUndefined();
    }
    // The whole of what can be reached from the one that waits.
    expect([first.entry?.next, first.entry?.previous, first.entry?.list.first?.request]).toEqual([
      undefined,
      undefined,
      first,
    ]);
    expect(queue.drain()).toEqual([first]);
  });
});
