// Decides which waiting requests form the next batch. Pure: no timers, no I/O; time is an argument, in
// milliseconds of any monotonic clock. Follows Triton's GetDynamicBatch and PriorityQueue
// (core/src/dynamic_batch_scheduler.cc, scheduler_utils.cc) with one difference: a batch is decided when an
// instance is free, from the whole queue; none is formed ahead while the instance is busy.

import { TritonError } from '../../errors.js';
import { DEFAULT_QUEUE_POLICY, type CompleteDynamicBatcher, type CompleteQueuePolicy } from '../../model/complete-batcher.js';
import { DeadlineHeap } from './deadline-heap.js';
import { Ring } from './ring.js';

/** What the queue needs to know of a request. */
export interface QueuedRequest {
  /** Rows it adds to a batch, at least 1. */
  readonly rows: number;
  /** Priority level it asked for; 0 for none. */
  readonly priority: number;
  /** Its own timeout; 0 for none. */
  readonly timeoutMicroseconds: number;
  /** For the "Exceeds maximum queue size" message. */
  readonly id: string;
  /** The queue's own mark on a waiting request. */
  entry: QueueEntry | undefined;
}

/** A request's place in the queue. A request that leaves from the middle leaves its place behind, not `queued`. */
export interface QueueEntry {
  readonly request: QueuedRequest;
  readonly level: Level;
  readonly enqueuedAt: number;
  readonly expiresAt: number;
  queued: boolean;
}

interface Level {
  readonly priority: number;
  readonly policy: CompleteQueuePolicy;
  readonly waiting: Ring<QueueEntry>;
  /** Expired requests of a level whose timeout action is DELAY: behind all unexpired ones of the level. */
  readonly delayed: Ring<QueueEntry>;
  size: number;
}

/** What to do now, when an instance is free. `until` is a moment of the same clock. */
export type Decision<R> =
  | { readonly kind: 'run'; readonly batch: R[]; readonly rows: number; readonly reason: ReleaseReason }
  | { readonly kind: 'wait'; readonly until: number }
  | { readonly kind: 'idle' };

/** Why a batch was released. */
export type ReleaseReason = 'full' | 'preferred' | 'delay' | 'idle' | 'shape' | 'single';

export interface BatchQueueOptions<R> {
  /** Most rows of a batch. */
  readonly maxBatchSize: number;
  /** Undefined: requests run alone, first come first served, without limits. */
  readonly batcher: CompleteDynamicBatcher | undefined;
  /** Whether a request's tensors can be in one batch with another's. */
  readonly compatible: (first: R, next: R) => boolean;
}

const IDLE = { kind: 'idle' } as const;

export class BatchQueue<R extends QueuedRequest> {
  readonly #maxRows: number;
  readonly #preferred: ReadonlySet<number>;
  readonly #largestPreferred: number;
  readonly #delay: number;
  readonly #batcher: CompleteDynamicBatcher | undefined;
  readonly #compatible: (first: R, next: R) => boolean;
  /** Ascending priority: the most urgent level first. Created when first used. */
  readonly #levels: Level[] = [];
  readonly #deadlines = new DeadlineHeap<QueueEntry>();
  #size = 0;

  constructor({ maxBatchSize, batcher, compatible }: BatchQueueOptions<R>) {
    this.#maxRows = Math.max(1, maxBatchSize);
    this.#batcher = batcher;
    this.#preferred = new Set(batcher?.preferredBatchSize);
    this.#largestPreferred = Math.max(1, ...this.#preferred);
    this.#delay = (batcher?.maxQueueDelayMicroseconds ?? 0) / 1000;
    this.#compatible = compatible;
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
      throw new TritonError('UNAVAILABLE', `[request id: ${request.id || '<id_unknown>'}] Exceeds maximum queue size`);
    }
    const timeout = timeoutOf(level.policy, request.timeoutMicroseconds);
    const entry: QueueEntry = { request, level, enqueuedAt: now, expiresAt: timeout === 0 ? Infinity : now + timeout, queued: true };
    request.entry = entry;
    level.waiting.push(entry);
    level.size++;
    this.#size++;
    if (timeout !== 0) this.#deadlines.push(entry);
  }

  /** Takes a waiting request out. False when it was not waiting. */
  remove(request: R): boolean {
    const { entry } = request;
    if (entry === undefined || !entry.queued) return false;
    this.#leave(entry);
    return true;
  }

  /** Takes out the requests whose time to wait is over and that are to be refused; the others move behind. */
  expire(now: number): R[] {
    const refused: R[] = [];
    for (let entry = this.#deadlines.popExpired(now); entry !== undefined; entry = this.#deadlines.popExpired(now)) {
      const { level, request } = entry;
      this.#leave(entry);
      if (level.policy.timeoutAction === 'REJECT') {
        refused.push(request as R);
      } else {
        const delayed: QueueEntry = { request, level, enqueuedAt: entry.enqueuedAt, expiresAt: Infinity, queued: true };
        request.entry = delayed;
        level.delayed.push(delayed);
        level.size++;
        this.#size++;
      }
    }
    return refused;
  }

  /** When {@link expire} has something to do next; Infinity for never. */
  nextExpiry(): number {
    return this.#deadlines.peek()?.expiresAt ?? Infinity;
  }

  /** What a free instance should do. Call {@link expire} first: expired requests are taken for waiting ones here. */
  next(now: number): Decision<R> {
    if (this.#size === 0) return IDLE;
    if (this.#batcher === undefined) return this.#takeOne();
    return this.#takeBatch(now);
  }

  /** Empties the queue, most urgent first. */
  drain(): R[] {
    const drained: R[] = [];
    for (let entry = this.#shift(); entry !== undefined; entry = this.#shift()) drained.push(entry.request as R);
    return drained;
  }

  #takeOne(): Decision<R> {
    const { request } = this.#shift()!;
    return { kind: 'run', batch: [request as R], rows: request.rows, reason: 'single' };
  }

  #takeBatch(now: number): Decision<R> {
    let first: R | undefined;
    let count = 0;
    let rows = 0;
    let oldest = Infinity;
    // The cut at the best preferred size so far.
    let best = { count: 0, rows: 0 };
    let closed: ReleaseReason | undefined;

    scan: for (const level of this.#levels) {
      for (const ring of [level.waiting, level.delayed]) {
        for (let index = 0; index < ring.length; index++) {
          const entry = ring.at(index)!;
          if (!entry.queued) continue;
          const request = entry.request as R;
          if (first === undefined) {
            first = request;
          } else {
            if (best.count === 0 && rows + request.rows > this.#largestPreferred) best = { count, rows };
            if (rows + request.rows > this.#maxRows) closed = 'full';
            else if (!this.#compatible(first, request)) closed = 'shape';
            if (closed !== undefined) break scan;
          }
          count++;
          rows += request.rows;
          if (entry.enqueuedAt < oldest) oldest = entry.enqueuedAt;
          if (this.#preferred.has(rows)) best = { count, rows };
          if (rows >= this.#maxRows) {
            closed = 'full';
            break scan;
          }
        }
      }
    }

    const delayPassed = this.#delay !== 0 && now - oldest >= this.#delay;
    if (best.count !== 0 && !delayPassed) return this.#take(best.count, best.rows, best.rows >= this.#maxRows ? 'full' : 'preferred');
    if (closed !== undefined) return this.#take(count, rows, closed);
    if (rows >= this.#largestPreferred) return this.#take(count, rows, 'preferred');
    if (this.#delay === 0) return this.#take(count, rows, 'idle');
    if (delayPassed) return this.#take(count, rows, 'delay');
    return { kind: 'wait', until: Math.min(oldest + this.#delay, this.nextExpiry()) };
  }

  #take(count: number, rows: number, reason: ReleaseReason): Decision<R> {
    const batch: R[] = [];
    for (let i = 0; i < count; i++) batch.push(this.#shift()!.request as R);
    return { kind: 'run', batch, rows, reason };
  }

  /** The next waiting entry in scanning order, taken out. */
  #shift(): QueueEntry | undefined {
    for (const level of this.#levels) {
      for (const ring of [level.waiting, level.delayed]) {
        for (let entry = ring.shift(); entry !== undefined; entry = ring.shift()) {
          if (!entry.queued) continue;
          this.#leave(entry);
          return entry;
        }
      }
    }
    return undefined;
  }

  #leave(entry: QueueEntry): void {
    entry.queued = false;
    entry.level.size--;
    this.#size--;
    entry.request.entry = undefined;
    // Places left behind must not pile up while nothing is taken.
    dropLeftBehind(entry.level.waiting);
    dropLeftBehind(entry.level.delayed);
  }

  #levelOf(asked: number): Level {
    const levels = this.#batcher?.priorityLevels ?? 0;
    const priority = levels === 0 ? 0 : asked < 1 || asked > levels ? this.#batcher!.defaultPriorityLevel : asked;
    let index = 0;
    while (index < this.#levels.length && this.#levels[index]!.priority < priority) index++;
    const found = this.#levels[index];
    if (found?.priority === priority) return found;
    const policy = this.#batcher?.priorityQueuePolicy[priority] ?? this.#batcher?.defaultQueuePolicy ?? DEFAULT_QUEUE_POLICY;
    const level: Level = { priority, policy, waiting: new Ring(), delayed: new Ring(), size: 0 };
    this.#levels.splice(index, 0, level);
    return level;
  }
}

function dropLeftBehind(ring: Ring<QueueEntry>): void {
  for (let head = ring.at(0); head !== undefined && !head.queued; head = ring.at(0)) ring.shift();
}

// Milliseconds; 0 for none. A request's own timeout can only shorten the default.
function timeoutOf(policy: CompleteQueuePolicy, own: number): number {
  const standard = policy.defaultTimeoutMicroseconds;
  return (policy.allowTimeoutOverride && own !== 0 && own < standard ? own : standard) / 1000;
}
