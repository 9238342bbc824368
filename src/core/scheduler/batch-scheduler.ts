// The shell around BatchQueue: one per model version. It gives instances with room the batches that the queue decides
// on, and owns the model's only timer.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';
import type { PendingRequest } from '../pending-request.js';
import type { InferenceStatistics } from '../statistics.js';
import { BatchQueue, type Release } from './batch-queue.js';
import type { BatchRunner, MakeScheduler, SchedulerParts } from './batch-runner.js';
import type { Slot } from './instance-slots.js';
import { LONGEST_TIMER } from './longest-timer.js';
import type { RequestOutcomes } from './request-outcomes.js';
import type { SchedulerLog } from './scheduler-log.js';
import type { Scheduler } from './scheduler.js';

/** Delays shorter than this many milliseconds are waited out by polling: a timer's floor is about 1.1 ms. */
const SHORTEST_TIMER = 1.5;

/** The scheduler of models that put requests together, or run each alone. */
export const dynamicBatching: MakeScheduler = (parts, runner) => new BatchScheduler(parts, runner);

class BatchScheduler implements Scheduler {
  readonly #runner: BatchRunner;
  readonly #statistics: InferenceStatistics;
  readonly #outcomes: RequestOutcomes;
  readonly #log: SchedulerLog;
  readonly #queue: BatchQueue<PendingRequest>;
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
    });
    runner.scheduler = this;
  }

  enqueue(request: PendingRequest): void {
    const { refusal } = this.#runner;
    if (refusal !== undefined) return this.#outcomes.fail(request, refusal, 'OTHER');
    const now = request.startedAt;
    // Requests that should be gone by now must not count towards the limits of the queue.
    this.#rejectExpired(now);
    try {
      this.#queue.enqueue(request, now);
    } catch (error) {
      return this.#outcomes.refuse(request, TritonError.from(error));
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
    else if (this.#queue.size > 0) this.#wake();
  }

  failQueued(error: TritonError): void {
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
    const now = performance.now();
    this.#rejectExpired(now);
    for (let slot = this.#runner.free(); slot !== undefined; slot = this.#runner.free()) {
      const decision = this.#queue.next(now);
      if (decision.kind === 'wait') return this.#dispatchAt(decision.until, now);
      if (decision.kind === 'idle') return;
      // At most one batch of a callable that computes in this very thread: it must not keep the event loop
      // from everything else while the queue lasts.
      if (this.#run(slot, decision)) return this.dispatch(false);
    }
    // Every instance is busy. A refusal need not be punctual to the microsecond.
    const expiry = this.#queue.nextExpiry();
    if (expiry !== Infinity) this.#arm(Math.ceil(expiry - now));
  }

  #run(slot: Slot, release: Release<PendingRequest>): boolean {
    const at = performance.now();
    const { batch, rows, reason } = release;
    this.#statistics.pending -= batch.length;
    this.#statistics.recordRelease(reason, rows);
    if (this.#log.level >= 1) {
      this.#log.released(release, { at, instance: this.#runner.indexOf(slot), waiting: this.#queue.size });
    }
    return this.#runner.run(slot, release, at);
  }

  #rejectExpired(now: number): void {
    if (this.#queue.nextExpiry() > now) return;
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

interface WithInputs {
  readonly inputs: readonly (InferTensor | undefined)[];
}

/** Whether a validated request of the model may join a batch that begins with another one. */
export function batchCompatibility(config: CompleteModelConfig): (first: WithInputs, next: WithInputs) => boolean {
  const open = config.inputs.flatMap(({ shape }, index) => (shape.includes(-1) ? [index] : []));
  const optional = config.inputs.flatMap((input, index) => (input.optional ? [index] : []));
  return (first, next) => {
    for (const index of optional) {
      if ((first.inputs[index] === undefined) !== (next.inputs[index] === undefined)) return false;
    }
    for (const index of open) {
      const a = first.inputs[index]?.shape;
      const b = next.inputs[index]?.shape;
      if (a === undefined || b === undefined) continue;
      // Validated shapes of one input have the same rank; the first dimension is the batch.
      for (let axis = 1; axis < a.length; axis++) if (a[axis] !== b[axis]) return false;
    }
    return true;
  };
}
