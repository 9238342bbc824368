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
import { Heap } from './heap.js';
import { isAhead, isDelayed, isSooner, type Level, type QueuedRequest, type QueueEntry } from './queue-entry.js';
import { type ReleaseReason, RequestGroup } from './request-group.js';
import { ShapeGroups } from './shape-groups.js';

/** A batch for an instance. */
export interface Release<R> {
  readonly kind: 'run';
  readonly batch: R[];
  readonly rows: number;
  readonly reason: ReleaseReason;
}

/** A batch that an instance was given ahead, with the places that its requests had in the queue. */
export interface AheadRelease<R> extends Release<R> {
  readonly entries: readonly QueueEntry[];
  /** When the first of its requests expires; Infinity for never. */
  readonly expiresAt: number;
}

/** What to do now, when an instance is free. `until` is a moment of the same clock. */
export type Decision<R> = Release<R> | { readonly kind: 'wait'; readonly until: number } | { readonly kind: 'idle' };

export interface BatchQueueOptions<R> {
  /** Most rows of a batch. */
  readonly maxBatchSize: number;
  /** Undefined: requests run alone, first come first served, without limits. */
  readonly batcher: CompleteDynamicBatcher | undefined;
  /** Whether a request's tensors can be in one batch with the tensors of its first request. */
  readonly compatible: (first: R, next: R) => boolean;
  /** Requests of the same signature have compatible tensors, and wait in a group of their own. Undefined: all wait together. */
  readonly signatureOf?: ((request: R) => string) | undefined;
}

const IDLE = { kind: 'idle' } as const;

export class BatchQueue<R extends QueuedRequest> {
  readonly #batcher: CompleteDynamicBatcher | undefined;
  readonly #levels = new Map<number, Level>();
  /** The level of requests that name none. */
  readonly #level: Level;
  readonly #deadlines = new Heap<QueueEntry>(isSooner);
  readonly #signatureOf: ((request: R) => string) | undefined;
  readonly #groups: ShapeGroups<R>;
  /** Undefined where each shape has a group. */
  readonly #all: RequestGroup<R> | undefined;
  #size = 0;
  #sequence = 0;

  constructor({ maxBatchSize, batcher, compatible, signatureOf }: BatchQueueOptions<R>) {
    this.#batcher = batcher;
    this.#level = this.#levelOf(0);
    this.#signatureOf = signatureOf;
    const delay = (batcher?.maxQueueDelayMicroseconds ?? 0) / 1000;
    const options = {
      maxRows: Math.max(1, maxBatchSize),
      preferred: new Set(batcher?.preferredBatchSize),
      delay,
      waits: delay !== 0,
      compatible,
    };
    this.#groups = new ShapeGroups(options);
    this.#all = signatureOf === undefined ? new RequestGroup('', options) : undefined;
  }

  /** Requests waiting. */
  get size(): number {
    return this.#size;
  }

  /** Adds a request. Throws UNAVAILABLE when its level is full. */
  enqueue(request: R, now: number): void {
    const level = request.priority === 0 ? this.#level : this.#levelOf(request.priority);
    const { maxQueueSize } = level.policy;
    if (maxQueueSize !== 0 && level.size >= maxQueueSize) {
      throw new TritonError('UNAVAILABLE', `${requestLabel(request.id)}Exceeds maximum queue size`);
    }
    const group = this.#all ?? this.#groups.of(this.#signatureOf!(request));
    const lane = group.laneOf(level);
    const timeout = timeoutOf(level.policy, request.timeoutMicroseconds);
    const entry: QueueEntry = {
      request,
      group,
      lane,
      enqueuedAt: now,
      expiresAt: timeout === 0 ? Infinity : now + timeout,
      sequence: this.#sequence++,
      list: lane.waiting,
      previous: undefined,
      next: undefined,
      heapIndex: -1,
    };
    request.entry = entry;
    if (this.#all === undefined) this.#groups.changes(group);
    group.add(entry);
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

  /** Handles the requests whose waiting time is over: returns those to refuse, and moves the others behind. */
  expire(now: number): R[] {
    const refused: R[] = [];
    for (
      let { first } = this.#deadlines;
      first !== undefined && first.expiresAt <= now;
      first = this.#deadlines.first
    ) {
      if (first.lane.level.policy.timeoutAction === 'REJECT') {
        this.#leave(first);
        refused.push(first.request as R);
      } else {
        this.#delay(first);
      }
    }
    return refused;
  }

  /** The next moment when {@link expire} has something to do; Infinity for never. */
  nextExpiry(): number {
    return this.#deadlines.first?.expiresAt ?? Infinity;
  }

  /** Decides what a free instance should do. Call {@link expire} first, because this does not look for expired requests. */
  next(now: number): Decision<R> {
    if (this.#size === 0) return IDLE;
    const all = this.#all;
    if (this.#batcher === undefined) return this.#take(all!, 1, 'single');
    const group = all === undefined ? this.#groups.next(now) : all.schedule() <= now ? all : undefined;
    if (group === undefined) return { kind: 'wait', until: Math.min((all ?? this.#groups).dueAt, this.nextExpiry()) };
    const { count, reason } = group.cut(now);
    return this.#take(group, count, reason);
  }

  /**
   * The next batch, if it is closed: no request behind it will join it. Undefined for a batch that may still grow. Call
   * {@link expire} first, as before `next`.
   */
  nextClosed(now: number): AheadRelease<R> | undefined {
    if (this.#size === 0) return undefined;
    const all = this.#all;
    if (this.#batcher === undefined) return this.#takeAhead(all!, 1, 'single');
    const group = all ?? this.#groups.next(now);
    // A shape that waits for more requests may be due, and older, by the time that the batch begins.
    if (group === undefined || (all === undefined && this.#groups.dueAt !== Infinity)) return undefined;
    if (all !== undefined) all.schedule();
    // Where other shapes wait too, it does not wait for more of its own: the instance would wait with it.
    const cut = group.closedCut() ?? (all === undefined && this.#groups.areSeveral ? group.cut(now) : undefined);
    return cut && this.#takeAhead(group, cut.count, cut.reason);
  }

  /** Puts the requests of a batch back in their places, in front of all later requests. */
  restore({ entries }: AheadRelease<R>): void {
    for (let i = entries.length - 1; i >= 0; i--) {
      const entry = entries[i]!;
      const group = this.#all ?? this.#rejoined(entry);
      entry.request.entry = entry;
      group.addFirst(entry);
      entry.lane.level.size++;
      this.#size++;
      if (entry.expiresAt !== Infinity && !isDelayed(entry)) this.#deadlines.push(entry);
    }
  }

  /** Whether a request of this priority would stand in front of another one that is not in the queue any more. */
  isMoreUrgent(request: R, { entries }: AheadRelease<R>): boolean {
    const { priority } = this.#levelOf(request.priority);
    return entries.some((entry) => {
      const { level } = entry.lane;
      return level.priority > priority || (level.priority === priority && isDelayed(entry));
    });
  }

  /** Whether the level of a request would be full if it had `more` waiting requests in addition. */
  isFull(request: R, more: number): boolean {
    const { policy, size } = this.#levelOf(request.priority);
    return policy.maxQueueSize !== 0 && size + more >= policy.maxQueueSize;
  }

  /** Empties the queue, most urgent first. */
  drain(): R[] {
    const entries: QueueEntry[] = [];
    for (const group of this.#all === undefined ? this.#groups.all() : [this.#all]) {
      for (let entry = group.first; entry !== undefined; entry = group.behind(entry)) entries.push(entry);
    }
    entries.sort((a, b) => (isAhead(a, b) ? -1 : 1));
    for (const entry of entries) this.#leave(entry);
    return entries.map(({ request }) => request as R);
  }

  /** Takes out the first `count` requests of a group, as a batch. */
  #take(group: RequestGroup<R>, count: number, reason: ReleaseReason): Release<R> {
    const batch: R[] = [];
    let rows = 0;
    let entry = group.first;
    while (entry !== undefined && batch.length < count) {
      const next = batch.length + 1 < count ? group.behind(entry) : undefined;
      batch.push(entry.request as R);
      rows += entry.request.rows;
      this.#leave(entry);
      entry = next;
    }
    return { kind: 'run', batch, rows, reason };
  }

  #takeAhead(group: RequestGroup<R>, count: number, reason: ReleaseReason): AheadRelease<R> {
    const entries: QueueEntry[] = [];
    let expiresAt = Infinity;
    for (let entry = group.first; entry !== undefined && entries.length < count; entry = group.behind(entry)) {
      entries.push(entry);
      if (!isDelayed(entry) && entry.expiresAt < expiresAt) expiresAt = entry.expiresAt;
    }
    const { kind, batch, rows } = this.#take(group, count, reason);
    // Spelled out: each copy by spreading has a hidden class of its own, which is collected late.
    return { kind, batch, rows, reason, entries, expiresAt };
  }

  /** The group of an entry that comes back. Its own one may have been forgotten when it was empty. */
  #rejoined(entry: QueueEntry): RequestGroup<R> {
    const { signature } = entry.group as RequestGroup<R>;
    const group = this.#groups.of(signature);
    if (group !== entry.group) {
      const wasDelayed = isDelayed(entry);
      entry.group = group;
      entry.lane = group.laneOf(entry.lane.level);
      entry.list = wasDelayed ? entry.lane.delayed : entry.lane.waiting;
    }
    this.#groups.changes(group);
    return group;
  }

  #leave(entry: QueueEntry): void {
    if (entry.heapIndex >= 0) this.#deadlines.remove(entry);
    entry.request.entry = undefined;
    entry.lane.level.size--;
    this.#size--;
    const group = this.#all ?? this.#changing(entry);
    group.remove(entry);
    if (this.#all === undefined) this.#groups.left(group);
  }

  /** Puts an expired request behind the unexpired ones of its level. */
  #delay(entry: QueueEntry): void {
    this.#deadlines.remove(entry);
    const group = this.#all ?? this.#changing(entry);
    group.remove(entry);
    entry.list = entry.lane.delayed;
    entry.sequence = this.#sequence++;
    group.add(entry);
  }

  #changing(entry: QueueEntry): RequestGroup<R> {
    const group = entry.group as RequestGroup<R>;
    this.#groups.changes(group);
    return group;
  }

  #levelOf(asked: number): Level {
    const levels = this.#batcher?.priorityLevels ?? 0;
    const priority = levels === 0 ? 0 : asked < 1 || asked > levels ? this.#batcher!.defaultPriorityLevel : asked;
    let level = this.#levels.get(priority);
    if (level === undefined) {
      const policy =
        this.#batcher?.priorityQueuePolicy[priority] ?? this.#batcher?.defaultQueuePolicy ?? DEFAULT_QUEUE_POLICY;
      this.#levels.set(priority, (level = { priority, policy, size: 0 }));
    }
    return level;
  }
}

// Milliseconds; 0 for none. A request's own timeout can only shorten the default.
function timeoutOf(policy: CompleteQueuePolicy, own: number): number {
  const standard = policy.defaultTimeoutMicroseconds;
  return (policy.allowTimeoutOverride && own !== 0 && own < standard ? own : standard) / 1000;
}
