// The shell around BatchQueue: one per model version. It holds the instances, dispatches what the queue
// decides, and owns the model's only timer. A request enters through `enqueue` and leaves through exactly one
// of: an execution's result, a refusal, a timeout, a cancellation, `stop`.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { BatchOffer, Execution, ExecutionDone, ModelInstance } from '../instance/model-instance.js';
import { SILENT, type EngineLogger } from '../engine-logger.js';
import { INSTANCES_STALLED } from '../interruption.js';
import type { PendingRequest } from '../pending-request.js';
import { serverStopping } from '../server-stopping.js';
import type { FailureReason, InferenceStatistics } from '../statistics.js';
import { batchCompatibility } from './batch-compatibility.js';
import { BatchQueue, type Release } from './batch-queue.js';
import { ExecutionLimit } from './execution-limit.js';
import { InstanceSlots, type Slot } from './instance-slots.js';
import { LONGEST_TIMER } from './longest-timer.js';
import { NO_TIMES, RequestOutcomes } from './request-outcomes.js';
import { SchedulerLog } from './scheduler-log.js';

/** Delays shorter than this many milliseconds are waited out by polling: a timer's floor is about 1.1 ms. */
const SHORTEST_TIMER = 1.5;

/** An execution under way. An abandoned one has let go of its requests. */
interface Run {
  readonly slot: Slot;
  batch: PendingRequest[];
  /** It has not ended long after it was told to. */
  isStuck: boolean;
}

/** The batch that comes next whatever happens, laid ready at an instance. Its requests wait in the queue. */
interface OfferedBatch {
  readonly slot: Slot;
  readonly release: Release<PendingRequest>;
  readonly offer: BatchOffer;
}

export class BatchScheduler {
  /** What became of the requests; also of those that others answer. */
  readonly outcomes: RequestOutcomes;
  readonly #config: CompleteModelConfig;
  readonly #statistics: InferenceStatistics;
  readonly #queue: BatchQueue<PendingRequest>;
  readonly #slots: InstanceSlots;
  readonly #mayOffer: boolean;
  readonly #log: SchedulerLog;
  readonly #running = new Set<Run>();
  readonly #limit: ExecutionLimit<Run>;
  /** Told when no instance will be free any more, though there are some, and when one is again. */
  onStalled: ((isStalled: boolean) => void) | undefined;
  #isStalled = false;
  #offered: OfferedBatch | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #accepting = true;
  /** What requests fail with since `stop`. */
  #stopped: TritonError | undefined;

  constructor(config: CompleteModelConfig, statistics: InferenceStatistics, logger: EngineLogger = SILENT) {
    this.#config = config;
    this.#log = new SchedulerLog(config, logger);
    this.#statistics = statistics;
    this.#slots = new InstanceSlots(config.concurrency);
    // Only the batches of an instance that does one thing at a time follow each other.
    this.#mayOffer = config.concurrency === 1 && !config.decoupled;
    this.#limit = new ExecutionLimit<Run>(config, {
      onExpired: (run, error) => this.#abandon(run, error, 'BACKEND'),
      onStuck: (run, reason) => this.#giveUp(run, reason),
    });
    this.outcomes = new RequestOutcomes(config, statistics, this.#log);
    this.#queue = new BatchQueue<PendingRequest>({
      maxBatchSize: config.maxBatchSize,
      batcher: config.dynamicBatching,
      compatible: batchCompatibility(config),
    });
  }

  /** Starts using an instance. */
  addInstance(instance: ModelInstance): void {
    this.#slots.add(instance);
    this.#checkStalled();
    this.#wakeIfWaiting();
  }

  /** Stops giving batches to an instance; tells how many instances are left. */
  removeInstance(instance: ModelInstance): number {
    if (this.#offered?.slot.instance === instance) this.#settleOffer();
    this.#slots.remove(instance);
    this.#checkStalled();
    return this.#slots.count;
  }

  /** Instances that take batches. */
  get instances(): number {
    return this.#slots.working;
  }

  /** False from {@link stopAccepting} on. */
  get accepting(): boolean {
    return this.#accepting;
  }

  /** Takes ownership of the request. */
  enqueue(request: PendingRequest): void {
    if (this.#accepting) this.admit(request);
    else this.outcomes.refuse(request, serverStopping(request.id));
  }

  /** Queues a request that was accepted before, whether or not others are accepted now. */
  admit(request: PendingRequest): void {
    if (this.#stopped !== undefined) return this.outcomes.fail(request, this.#stopped, 'OTHER');
    if (this.#isStalled) return this.outcomes.fail(request, this.#stalled(), 'OTHER');
    const now = request.startedAt;
    // Those that should be gone by now must not count towards the limits of the queue.
    this.#rejectExpired(now);
    try {
      this.#queue.enqueue(request, now);
    } catch (error) {
      return this.outcomes.refuse(request, TritonError.from(error));
    }
    this.#statistics.pending++;
    this.outcomes.takeTurn(request);
    if (this.#log.level >= 2) this.#log.queued(request, this.#queue.size);
    this.#wake();
  }

  /** The client of a request is gone: it is over, whether it waited or ran. */
  cancelled(request: PendingRequest): void {
    if (this.#offered?.release.batch.includes(request) && !this.#settleOffer()) request.abandon();
    if (this.#queue.remove(request)) {
      this.#statistics.pending--;
      // It may have been what kept those behind it out of the batch that waits.
      this.#wakeIfWaiting();
    }
    if (this.#log.level >= 1) this.#log.cancelled(request);
    this.outcomes.fail(request, new TritonError('CANCELLED', ''), 'CANCELED');
  }

  /** Accepts nothing more; what waits and runs goes on. */
  stopAccepting(): void {
    this.#accepting = false;
  }

  /** Fails what still waits or runs, and lets go of the timer. Executions under way are cancelled and abandoned. */
  stop(error: TritonError): void {
    this.#accepting = false;
    this.#stopped = error;
    this.#disarm();
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    this.failWaiting(error);
    for (const run of this.#running) this.#abandon(run, error, 'OTHER');
    this.#limit.stop();
  }

  /** Fails what waits: no instance is left, and whether one will ever be there again nobody knows. */
  failWaiting(error: TritonError): void {
    this.#settleOffer();
    for (const request of this.#queue.drain()) {
      this.#statistics.pending--;
      this.outcomes.fail(request, error, 'OTHER');
    }
  }

  /** Fails what an execution has not answered yet, and tells it so. Its instance stays busy until it ends. */
  #abandon(run: Run, error: TritonError, reason: FailureReason): void {
    const { batch } = run;
    this.#running.delete(run);
    // A callable that never settles must not keep its requests alive.
    run.batch = [];
    for (const request of batch) {
      request.abandon();
      this.outcomes.fail(request, error, reason);
    }
  }

  // Decides at the end of the current turn of the event loop, so that requests that arrived together are seen together.
  #wake(): void {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#dispatch();
    });
  }

  #wakeIfWaiting(): void {
    if (this.#queue.size > 0) this.#wake();
  }

  #dispatch(): void {
    this.#disarm();
    const now = performance.now();
    this.#rejectExpired(now);
    for (let slot = this.#slots.free(); slot !== undefined; slot = this.#slots.free()) {
      // The batch that lies ready at another instance is the first in the queue.
      this.#settleOffer();
      const decision = this.#queue.next(now);
      if (decision.kind === 'wait') return this.#dispatchAt(decision.until, now);
      if (decision.kind === 'idle') return;
      // At most one batch of a callable that computes in this very thread: it must not keep the event loop
      // from everything else while the queue lasts.
      if (this.#execute(slot, decision)) return this.#wakeIfWaiting();
    }
    this.#offerNext();
    // Every instance is busy. A refusal need not be punctual to the microsecond.
    const expiry = this.#queue.nextExpiry();
    if (expiry !== Infinity) this.#arm(Math.ceil(expiry - now));
  }

  /** Lays the next batch ready where an instance is likely to be free first, if the queue holds one that is certain. */
  #offerNext(): void {
    if (!this.#mayOffer || this.#offered !== undefined || this.#queue.size === 0) return;
    const slot = this.#slots.longestBusy();
    if (slot?.instance.offer === undefined || slot.offered) return;
    const release = this.#queue.nextForCertain();
    if (release === undefined) return;
    let offer: BatchOffer | undefined;
    try {
      offer = slot.instance.offer(release.batch);
    } catch {
      // What is wrong with it will be said when it is executed.
    }
    slot.offered = true;
    if (offer !== undefined) this.#offered = { slot, release, offer };
  }

  /** Takes the batch that lies ready back, unless it has begun. False when it has. */
  #settleOffer(): boolean {
    const offered = this.#offered;
    if (offered === undefined) return true;
    this.#offered = undefined;
    const { slot, release, offer } = offered;
    if (offer.withdraw()) return true;
    this.#queue.take(release);
    this.#run(slot, release, (done) => offer.accept(done));
    return false;
  }

  /** Runs a batch; true when it ended before returning, that is: when it was computed in this thread. */
  #execute(slot: Slot, release: Release<PendingRequest>): boolean {
    return this.#run(slot, release, (done, run) =>
      slot.instance.execute(release.batch, done, this.#config.decoupled ? this.outcomes.streamTo(run) : undefined),
    );
  }

  #run(slot: Slot, release: Release<PendingRequest>, start: (done: ExecutionDone, run: Run) => Execution): boolean {
    const dispatchedAt = performance.now();
    const { batch, rows } = release;
    this.#statistics.pending -= batch.length;
    this.#statistics.recordRelease(release.reason, rows);
    if (this.#log.level >= 1) {
      this.#log.released(release, {
        at: dispatchedAt,
        instance: this.#slots.indexOf(slot),
        waiting: this.#queue.size,
      });
    }
    for (const request of batch) {
      request.dispatchedAt = dispatchedAt;
      this.#statistics.recordDispatch(dispatchedAt - request.startedAt);
    }
    const run: Run = { slot, batch, isStuck: false };
    this.#running.add(run);
    this.#limit.begin(run);
    this.#slots.begin(slot, dispatchedAt);
    let ended = false;
    const done: ExecutionDone = (results, times, metrics) => {
      if (ended) return;
      ended = true;
      slot.running--;
      this.#limit.end(run);
      if (run.isStuck) {
        slot.stuck--;
        this.#checkStalled();
      }
      if (metrics !== undefined) this.#statistics.custom.apply(metrics);
      const idle = this.#offered?.slot !== slot || this.#settleOffer();
      // What was abandoned leaves nothing but room for the next.
      if (!this.#running.delete(run)) return this.#wakeIfWaiting();
      // It works on its next batch while the answers to this one are written.
      if (idle && slot.instance.inOtherThread) this.#dispatch();
      this.outcomes.finish({ batch: run.batch, rows }, results, times);
      this.#wakeIfWaiting();
    };
    let execution: Execution;
    try {
      execution = start(done, run);
    } catch (error) {
      const failure = { kind: 'error', error: TritonError.from(error) } as const;
      done(
        batch.map(() => failure),
        NO_TIMES,
      );
      return true;
    }
    if (!ended) for (let i = 0; i < batch.length; i++) batch[i]!.executing(execution, batch, i);
    return ended;
  }

  /** A callable does not come to an end: its instance is ended, or counts for nothing until it does. */
  #giveUp(run: Run, reason: string): void {
    const { slot } = run;
    this.#log.stuck(this.#slots.indexOf(slot), reason);
    if (slot.instance.end !== undefined) return slot.instance.end(reason);
    run.isStuck = true;
    slot.stuck++;
    this.#checkStalled();
  }

  /** Whoever waits for an instance would wait for ever when none will be free. */
  #checkStalled(): void {
    const isStalled = this.#slots.count > 0 && this.#slots.working === 0;
    if (isStalled === this.#isStalled) return;
    this.#isStalled = isStalled;
    if (isStalled) this.failWaiting(this.#stalled());
    this.onStalled?.(isStalled);
  }

  #stalled(): TritonError {
    return new TritonError('UNAVAILABLE', `model '${this.#config.name}' is not ready: ${INSTANCES_STALLED}`);
  }

  #rejectExpired(now: number): void {
    if (this.#queue.nextExpiry() > now) return;
    this.#settleOffer();
    for (const request of this.#queue.expire(now)) {
      this.#statistics.pending--;
      if (this.#log.level >= 1) this.#log.expired(request, now);
      this.outcomes.fail(request, new TritonError('UNAVAILABLE', 'Request timeout expired'), 'REJECTED');
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
