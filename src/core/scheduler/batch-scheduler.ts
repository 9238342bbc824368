// The shell around BatchQueue: one per model version. It gives instances with room the batches that the queue decides
// on, and owns the model's only timer.

import { TritonError } from '../../errors.js';
import type { PendingRequest } from './pending-request.js';
import type { InferenceStatistics } from './statistics.js';
import { batchCompatibility, batchSignature } from './batch-compatibility.js';
import { type AheadRelease, BatchQueue, type Release } from './batch-queue.js';
import type { BatchRunner, MakeScheduler, SchedulerParts } from './batch-runner.js';
import type { Slot } from './instance-slots.js';
import { LONGEST_TIMER } from './execution-limit.js';
import { type Linked, LinkedList } from '../../linked-list.js';
import type { RequestOutcomes } from './request-outcomes.js';
import type { SchedulerLog } from './scheduler-log.js';
import type { Scheduler } from './scheduler.js';

/** Delays shorter than this many milliseconds are waited out by polling: a timer's floor is about 1.1 ms. */
const SHORTEST_TIMER = 1.5;
/** How long batches may be computed in this very thread before everything else has its turn, in milliseconds. */
const LONGEST_MS = 1;
/** The most bytes of inputs of a batch that is handed over ahead: they are copied again when the batch is called back. */
const MOST_BYTES_AHEAD = 64 * 1024;

/** An instance that has not begun a batch so many milliseconds after it was given it is late. */
const LATE_MS = 2;

interface AheadBatch extends Linked<AheadBatch> {
  readonly release: AheadRelease<PendingRequest>;
  readonly handedAt: number;
}

/** The scheduler of models that put requests together, or run each alone. */
export const dynamicBatching: MakeScheduler = (parts, runner) => new BatchScheduler(parts, runner);

class BatchScheduler implements Scheduler {
  readonly #runner: BatchRunner;
  readonly #statistics: InferenceStatistics;
  readonly #outcomes: RequestOutcomes;
  readonly #log: SchedulerLog;
  readonly #queue: BatchQueue<PendingRequest>;
  /** Batches that instances were given ahead, in that order, and that nobody has seen begin yet. */
  readonly #ahead = new LinkedList<AheadBatch>();
  /** Whether requests may be refused, expire or be more urgent than others. */
  readonly #hasQueuePolicy: boolean;
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Decides what `runner` runs. */
  constructor({ config, statistics, outcomes, log }: SchedulerParts, runner: BatchRunner) {
    this.#runner = runner;
    this.#statistics = statistics;
    this.#outcomes = outcomes;
    this.#log = log;
    this.#queue = new BatchQueue<PendingRequest>({
      maxBatchSize: config.maxBatchSize,
      batcher: config.dynamicBatching,
      compatible: batchCompatibility(config),
      signatureOf: config.dynamicBatching?.groupByShape ? batchSignature(config) : undefined,
    });
    this.#hasQueuePolicy = config.dynamicBatching !== undefined;
    runner.scheduler = this;
  }

  enqueue(request: PendingRequest): void {
    const { refusal } = this.#runner;
    if (refusal !== undefined) return this.#outcomes.fail(request, refusal, 'OTHER');
    const now = request.startedAt;
    // Requests that should be gone by now must not count towards the limits of the queue.
    this.#rejectExpired(now);
    if (this.#concernsAhead(request)) this.#runner.settle();
    try {
      this.#queue.enqueue(request, now);
    } catch (error) {
      // Requests of this turn wait to be seen together. They fill the queue only where no instance takes them.
      if (this.#immediate === undefined || this.#runner.free() === undefined)
        return this.#outcomes.refuse(request, TritonError.from(error));
      this.#dispatch();
      if (this.#queue.isFull(request, 0)) return this.#outcomes.refuse(request, TritonError.from(error));
      this.#queue.enqueue(request, now);
    }
    this.#statistics.pending++;
    this.#outcomes.takeTurn(request);
    if (this.#log.level >= 2) this.#log.queued(request, this.#queue.size);
    this.#wake();
  }

  cancelled(request: PendingRequest): void {
    if (this.#queue.remove(request)) {
      this.#statistics.pending--;
      // It may have kept the requests behind it out of the next batch.
      this.dispatch(false);
    }
    this.#outcomes.cancel(request);
  }

  dispatch(now: boolean): void {
    if (now) this.#dispatch();
    else if (this.#queue.size > 0 || this.#ahead.first !== undefined) this.#wake();
  }

  failQueued(error: TritonError): void {
    this.#runner.settle();
    this.#disarm();
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    for (const request of this.#queue.drain()) {
      this.#statistics.pending--;
      this.#outcomes.fail(request, error, 'OTHER');
    }
  }

  // Decides at the end of the current turn of the event loop, so that requests that arrived together are seen together.
  #wake(): void {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    this.#disarm();
    const startedAt = performance.now();
    this.#rejectExpired(startedAt);
    let now = startedAt;
    let hasComputed = false;
    for (let slot = this.#runner.free(); slot !== undefined; slot = this.#runner.free()) {
      this.#shareAhead(slot, now);
      const decision = hasComputed ? (this.#queue.nextClosed(now) ?? IDLE) : this.#queue.next(now);
      if (decision.kind === 'wait') return this.#dispatchAt(decision.until, now);
      if (decision.kind === 'idle') return this.dispatch(false);
      const at = performance.now();
      this.#released(slot, decision, at);
      if (!this.#runner.run(slot, decision, at)) continue;
      // The callable computes in this very thread: it must not keep the event loop from everything else while the queue lasts. A
      // batch that may still grow waits for the next turn.
      hasComputed = true;
      now = performance.now();
      if (now - startedAt >= LONGEST_MS) return this.dispatch(false);
      this.#rejectExpired(now);
    }
    this.#handAhead(now);
    // Every instance is busy. A refusal need not be punctual to the microsecond.
    const expiry = this.#nextExpiry();
    if (expiry !== Infinity) this.#arm(Math.ceil(expiry - now));
  }

  /** An idle instance runs what another one was given ahead: where nothing else waits, or where the other one is late. */
  #shareAhead({ running }: Slot, now: number): void {
    const { first } = this.#ahead;
    if (running > 0 || first === undefined) return;
    if (this.#queue.size === 0 || now - first.handedAt >= LATE_MS) this.#runner.settle();
  }

  /** Every instance is busy: gives them small batches to go on with. */
  #handAhead(now: number): void {
    for (let slot = this.#runner.busy(); slot !== undefined; slot = this.#runner.busy()) {
      const release = this.#queue.nextClosed(now);
      if (release === undefined) return;
      if (!isSmall(release)) return this.#queue.restore(release);
      const ahead: AheadBatch = { release, handedAt: now, previous: undefined, next: undefined };
      this.#ahead.push(ahead);
      this.#runner.runAhead(slot, release, {
        began: (at) => {
          this.#ahead.remove(ahead);
          this.#released(slot, release, at);
        },
        takenBack: () => {
          this.#ahead.remove(ahead);
          this.#queue.restore(release);
          this.#wake();
        },
      });
    }
  }

  /** Whether a new request changes which requests run next, or counts them. */
  #concernsAhead(request: PendingRequest): boolean {
    if (!this.#hasQueuePolicy) return false;
    let count = 0;
    for (let ahead = this.#ahead.first; ahead !== undefined; ahead = ahead.next) {
      if (this.#queue.isMoreUrgent(request, ahead.release)) return true;
      count += ahead.release.batch.length;
    }
    return count > 0 && this.#queue.isFull(request, count);
  }

  #released(slot: Slot, release: Release<PendingRequest>, at: number): void {
    const { batch, rows, reason } = release;
    this.#statistics.pending -= batch.length;
    this.#statistics.recordRelease(reason, rows);
    if (this.#log.level >= 1) {
      this.#log.released(release, { at, instance: this.#runner.indexOf(slot), waiting: this.#queue.size });
    }
  }

  #nextExpiry(): number {
    let first = this.#queue.nextExpiry();
    if (!this.#hasQueuePolicy) return first;
    for (let ahead = this.#ahead.first; ahead !== undefined; ahead = ahead.next) {
      first = Math.min(first, ahead.release.expiresAt);
    }
    return first;
  }

  #rejectExpired(now: number): void {
    if (this.#queue.nextExpiry() > now && (this.#ahead.first === undefined || this.#nextExpiry() > now)) return;
    this.#runner.settle();
    for (const request of this.#queue.expire(now)) {
      this.#statistics.pending--;
      if (this.#log.level >= 1) this.#log.expired(request, now);
      this.#outcomes.fail(request, new TritonError('UNAVAILABLE', 'Request timeout expired'), 'REJECTED');
    }
  }

  #dispatchAt(until: number, now: number): void {
    const delay = until - now;
    if (this.#log.level >= 2) this.#log.waits(delay, this.#queue.size);
    if (delay < SHORTEST_TIMER) this.#wake();
    else this.#arm(Math.floor(delay));
  }

  #arm(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#dispatch(), Math.min(milliseconds, LONGEST_TIMER));
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

const IDLE = { kind: 'idle' } as const;

/** Whether a batch may be copied twice, and whether nothing needs to know when exactly it begins. */
function isSmall({ batch }: AheadRelease<PendingRequest>): boolean {
  let bytes = 0;
  for (const { inputs, trace } of batch) {
    if (trace !== undefined) return false;
    for (const input of inputs) bytes += input?.bytes.byteLength ?? 0;
  }
  return bytes <= MOST_BYTES_AHEAD;
}
