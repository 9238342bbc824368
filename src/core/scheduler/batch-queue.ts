// Decides which waiting requests form the next batch. Pure: no timers, no I/O; time is an argument, in
// milliseconds of any monotonic clock. Follows Triton's GetDynamicBatch and PriorityQueue
// (core/src/dynamic_batch_scheduler.cc, scheduler_utils.cc) with one difference: a batch is decided when an
// instance is free, from the whole queue.

import { TritonError } from '../../errors.js';
import {
  type CompleteDynamicBatcher,
  type CompleteQueuePolicy,
  DEFAULT_QUEUE_POLICY,
} from '../../model/complete-batcher.js';
import { requestLabel } from '../refusals.js';
import { BatchScan } from './batch-scan.js';
import { DeadlineHeap } from './deadline-heap.js';
import { LinkedList } from './linked-list.js';
import { isBehind, type Level, type QueuedRequest, type QueueEntry } from './queue-entry.js';

/** A batch for an instance. */
export interface Release<R> {
  readonly kind: 'run';
  readonly batch: R[];
  readonly rows: number;
  readonly reason: ReleaseReason;
}

/** What to do now, when an instance is free. `until` is a moment of the same clock. */
export type Decision<R> = Release<R> | { readonly kind: 'wait'; readonly until: number } | { readonly kind: 'idle' };

/** Why a batch was released. */
export type ReleaseReason = 'full' | 'preferred' | 'delay' | 'idle' | 'shape' | 'single';

export interface BatchQueueOptions<R> {
  /** Most rows of a batch. */
  readonly maxBatchSize: number;
  /** Undefined: requests run alone, first come first served, without limits. */
  readonly batcher: CompleteDynamicBatcher | undefined;
  /** Whether a request's tensors can be in one batch with those of its first. */
  readonly compatible: (first: R, next: R) => boolean;
}

const IDLE = { kind: 'idle' } as const;

export class BatchQueue<R extends QueuedRequest> {
  readonly #delay: number;
  readonly #batcher: CompleteDynamicBatcher | undefined;
  /** Ascending priority: the most urgent level first. Created when first used. */
  readonly #levels: Level[] = [];
  readonly #deadlines = new DeadlineHeap<QueueEntry>();
  #size = 0;
  #sequence = 0;
  /** The requests of the next batch, as far as they were looked at. */
  readonly #head: BatchScan<R>;

  constructor({ maxBatchSize, batcher, compatible }: BatchQueueOptions<R>) {
    this.#batcher = batcher;
    const preferred = new Set(batcher?.preferredBatchSize);
    this.#delay = (batcher?.maxQueueDelayMicroseconds ?? 0) / 1000;
    this.#head = new BatchScan({ maxRows: Math.max(1, maxBatchSize), preferred, waits: this.#delay !== 0, compatible });
  }

  /** Requests waiting. */
  get size(): number {
    return this.#size;
  }

  /** Adds a request. Throws UNAVAILABLE when its level is full. */
  enqueue(request: R, now: number): void {
    const level = this.#levelOf(request.priority);
    const { maxQueueSize } = level.policy;
    if (maxQueueSize !== 0 && level.size >= maxQueueSize) {
      throw new TritonError('UNAVAILABLE', `${requestLabel(request.id)}Exceeds maximum queue size`);
    }
    const timeout = timeoutOf(level.policy, request.timeoutMicroseconds);
    const entry: QueueEntry = {
      request,
      level,
      enqueuedAt: now,
      expiresAt: timeout === 0 ? Infinity : now + timeout,
      sequence: this.#sequence++,
      list: level.lists[0],
      previous: undefined,
      next: undefined,
      heapIndex: -1,
    };
    request.entry = entry;
    entry.list.push(entry);
    if (this.#head.end !== undefined && !isBehind(entry, this.#head.end)) this.#head.clear();
    level.size++;
    this.#size++;
    if (timeout !== 0) this.#deadlines.push(entry);
  }

  /** Takes a waiting request out. False when it was not waiting. */
  remove(request: R): boolean {
    if (request.entry === undefined) return false;
    this.#leave(request.entry);
    return true;
  }

  /** Takes out the requests whose time to wait is over and that are to be refused; the others move behind. */
  expire(now: number): R[] {
    const refused: R[] = [];
    for (
      let entry = this.#deadlines.first;
      entry !== undefined && entry.expiresAt <= now;
      entry = this.#deadlines.first
    ) {
      if (entry.level.policy.timeoutAction === 'REJECT') {
        this.#leave(entry);
        refused.push(entry.request as R);
      } else {
        this.#deadlines.remove(entry);
        entry.list.remove(entry);
        entry.list = entry.level.lists[1];
        entry.list.push(entry);
        this.#head.clear();
      }
    }
    return refused;
  }

  /** When {@link expire} has something to do next; Infinity for never. */
  nextExpiry(): number {
    return this.#deadlines.first?.expiresAt ?? Infinity;
  }

  /** What a free instance should do. Call {@link expire} first: expired requests are taken for waiting ones here. */
  next(now: number): Decision<R> {
    if (this.#size === 0) return IDLE;
    if (this.#batcher === undefined) return this.#take(1, 'single');
    return this.#takeBatch(now);
  }

  /** Empties the queue, most urgent first. */
  drain(): R[] {
    const all = this.#first(this.#size);
    for (const request of all) this.#leave(request.entry!);
    return all;
  }

  #takeBatch(now: number): Decision<R> {
    const { count, rows, best, closed, oldest } = this.#scan();
    // The same sum as `until` below, so that the answer at that very moment is not to wait again.
    const delayPassed = this.#delay !== 0 && now >= oldest + this.#delay;
    if (best !== 0 && !delayPassed) return this.#take(best, best === count && closed ? closed : 'preferred');
    if (closed !== undefined) return this.#take(count, closed);
    if (delayPassed) return this.#take(count, 'delay');
    if (this.#delay === 0) return this.#take(count, 'idle');
    if (rows >= this.#head.largestPreferred) return this.#take(count, 'preferred');
    return { kind: 'wait', until: Math.min(oldest + this.#delay, this.nextExpiry()) };
  }

  /** What came since the last time stands behind all that was looked at; else the scan was cleared. */
  #scan(): BatchScan<R> {
    const head = this.#head;
    for (let entry = this.#behind(head.last); entry !== undefined && head.add(entry); entry = this.#behind(entry));
    return head;
  }

  /** The request behind another one, or the first of all. */
  #behind(entry: QueueEntry | undefined): QueueEntry | undefined {
    if (entry?.next !== undefined) return entry.next;
    for (const { priority, lists } of this.#levels) {
      if (entry === undefined || priority > entry.level.priority) {
        const found = lists[0].first ?? lists[1].first;
        if (found !== undefined) return found;
      } else if (entry.list === lists[0] && lists[1].first !== undefined) {
        return lists[1].first;
      }
    }
    return undefined;
  }

  /** Takes out the first `count` requests in scanning order, as a batch. */
  #take(count: number, reason: ReleaseReason): Release<R> {
    const batch = this.#first(count);
    let rows = 0;
    for (let i = 0; i < batch.length; i++) {
      const request = batch[i]!;
      rows += request.rows;
      this.#leave(request.entry!);
    }
    return { kind: 'run', batch, rows, reason };
  }

  #first(count: number): R[] {
    const requests: R[] = [];
    for (const { lists } of this.#levels) {
      for (const list of lists) {
        for (let entry = list.first; entry !== undefined; entry = entry.next) {
          if (requests.length === count) return requests;
          requests.push(entry.request as R);
        }
      }
    }
    return requests;
  }

  #leave(entry: QueueEntry): void {
    this.#head.clear();
    entry.list.remove(entry);
    this.#deadlines.remove(entry);
    entry.request.entry = undefined;
    entry.level.size--;
    this.#size--;
  }

  #levelOf(asked: number): Level {
    const levels = this.#batcher?.priorityLevels ?? 0;
    const priority = levels === 0 ? 0 : asked < 1 || asked > levels ? this.#batcher!.defaultPriorityLevel : asked;
    let index = 0;
    while (index < this.#levels.length && this.#levels[index]!.priority < priority) index++;
    const found = this.#levels[index];
    if (found?.priority === priority) return found;
    const policy =
      this.#batcher?.priorityQueuePolicy[priority] ?? this.#batcher?.defaultQueuePolicy ?? DEFAULT_QUEUE_POLICY;
    const level: Level = { priority, policy, lists: [new LinkedList(), new LinkedList()], size: 0 };
    this.#levels.splice(index, 0, level);
    return level;
  }
}

// Milliseconds; 0 for none. A request's own timeout can only shorten the default.
function timeoutOf(policy: CompleteQueuePolicy, own: number): number {
  const standard = policy.defaultTimeoutMicroseconds;
  return (policy.allowTimeoutOverride && own !== 0 && own < standard ? own : standard) / 1000;
}
