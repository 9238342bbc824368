// The shell around BatchQueue: one per model version. It holds the instances, dispatches what the queue
// decides, and owns the model's only timer. A request enters through `enqueue` and leaves through exactly one
// of: an execution's result, a refusal, a timeout, a cancellation, `stop`.

import { TritonError } from '../../errors.js';
import type { Parameters } from '../../model/parameters.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';
import type {
  BatchOffer,
  Execution,
  ExecutionDone,
  ExecutionResult,
  ExecutionTimes,
  ModelInstance,
  ResponseStream,
} from '../instance/model-instance.js';
import { SILENT, type EngineLogger } from '../engine-logger.js';
import type { Answer, PendingRequest } from '../pending-request.js';
import { serverStopping } from '../server-stopping.js';
import type { FailureReason, InferenceStatistics } from '../statistics.js';
import { AnswerOrder } from './answer-order.js';
import { batchCompatibility } from './batch-compatibility.js';
import { BatchQueue, type Release } from './batch-queue.js';
import { InstanceSlots, type Slot } from './instance-slots.js';
import { SchedulerLog } from './scheduler-log.js';

/** Delays shorter than this many milliseconds are waited out by polling: a timer's floor is about 1.1 ms. */
const SHORTEST_TIMER = 1.5;
/** setTimeout's longest delay. */
const LONGEST_TIMER = 2 ** 31 - 1;

const NO_TIMES: ExecutionTimes = { computeInput: 0, computeInfer: 0, computeOutput: 0 };

/** An execution under way. An abandoned one has let go of its requests. */
interface Run {
  batch: PendingRequest[];
}

/** The batch that comes next whatever happens, laid ready at an instance. Its requests wait in the queue. */
interface OfferedBatch {
  readonly slot: Slot;
  readonly release: Release<PendingRequest>;
  readonly offer: BatchOffer;
}

export class BatchScheduler {
  readonly #config: CompleteModelConfig;
  readonly #statistics: InferenceStatistics;
  readonly #queue: BatchQueue<PendingRequest>;
  readonly #slots: InstanceSlots;
  readonly #mayOffer: boolean;
  readonly #order: AnswerOrder | undefined;
  readonly #modelVersion: string;
  readonly #log: SchedulerLog;
  readonly #running = new Set<Run>();
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
    this.#modelVersion = String(config.version);
    this.#slots = new InstanceSlots(config.concurrency);
    // The answers of decoupled models are streams of their own, each in its own order.
    // Only the batches of an instance that does one thing at a time follow each other.
    this.#mayOffer = config.concurrency === 1 && !config.decoupled;
    this.#order = config.dynamicBatching?.preserveOrdering && !config.decoupled ? new AnswerOrder() : undefined;
    this.#queue = new BatchQueue<PendingRequest>({
      maxBatchSize: config.maxBatchSize,
      batcher: config.dynamicBatching,
      compare: batchCompatibility(config),
    });
  }

  /** Starts using an instance. */
  addInstance(instance: ModelInstance): void {
    this.#slots.add(instance);
    this.#wakeIfWaiting();
  }

  /** Stops giving batches to an instance; tells how many instances are left. */
  removeInstance(instance: ModelInstance): number {
    if (this.#offered?.slot.instance === instance) this.#settleOffer();
    this.#slots.remove(instance);
    return this.#slots.count;
  }

  get instances(): number {
    return this.#slots.count;
  }

  /** False from {@link stopAccepting} on. */
  get accepting(): boolean {
    return this.#accepting;
  }

  /** Takes ownership of the request. */
  enqueue(request: PendingRequest): void {
    if (this.#accepting) this.admit(request);
    else this.#refuse(request, serverStopping(request.id));
  }

  /** Queues a request that was accepted before, whether or not others are accepted now. */
  admit(request: PendingRequest): void {
    if (this.#stopped !== undefined) return this.fail(request, this.#stopped, 'OTHER');
    const now = request.startedAt;
    // Those that should be gone by now must not count towards the limits of the queue.
    this.#rejectExpired(now);
    try {
      this.#queue.enqueue(request, now);
    } catch (error) {
      return this.#refuse(request, TritonError.from(error));
    }
    this.#statistics.pending++;
    this.takeTurn(request);
    if (this.#log.level >= 2) this.#log.queued(request, this.#queue.size);
    this.#wake();
  }

  /** The request's answer, where answers keep their order, comes after those of the requests before it. */
  takeTurn(request: PendingRequest): void {
    this.#order?.takeTurn(request);
  }

  /** Answers a request without an execution of its own. */
  answer(request: PendingRequest, answer: Answer): void {
    if (!request.decide()) return;
    const total = performance.now() - request.startedAt;
    // Waiting for an execution that answers several counts as waiting.
    this.#statistics.recordCacheHit(total, Math.max(0, total - request.lookupMs), request.lookupMs);
    if (this.#log.level >= 2) this.#log.answeredFromCache(request);
    this.takeTurn(request);
    this.#succeed(request, answer);
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
    this.fail(request, new TritonError('CANCELLED', ''), 'CANCELED');
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
    this.#settleOffer();
    for (const request of this.#queue.drain()) {
      this.#statistics.pending--;
      this.fail(request, error, 'OTHER');
    }
    for (const run of this.#running) {
      const { batch } = run;
      this.#running.delete(run);
      // A callable that never settles must not keep its requests alive.
      run.batch = [];
      for (const request of batch) {
        request.abandon();
        this.fail(request, error, 'OTHER');
      }
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
      slot.instance.execute(release.batch, done, this.#config.decoupled ? this.#streamTo(run) : undefined),
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
    const run: Run = { batch };
    this.#running.add(run);
    this.#slots.begin(slot, dispatchedAt);
    let ended = false;
    const done: ExecutionDone = (results, times, metrics) => {
      if (ended) return;
      ended = true;
      slot.running--;
      if (metrics !== undefined) this.#statistics.custom.apply(metrics);
      const idle = this.#offered?.slot !== slot || this.#settleOffer();
      if (!this.#running.delete(run)) return;
      // It works on its next batch while the answers to this one are written.
      if (idle && slot.instance.inOtherThread) this.#dispatch();
      this.#finish(run.batch, rows, results, times);
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

  #finish(
    batch: readonly PendingRequest[],
    rows: number,
    results: readonly ExecutionResult[],
    times: ExecutionTimes,
  ): void {
    const now = performance.now();
    this.#statistics.recordExecution(rows, times);
    for (let i = 0; i < batch.length; i++) {
      const request = batch[i]!;
      const result = results[i];
      if (result === undefined) {
        const message = `this is a bug in TSTriton: an instance answered ${results.length} of ${batch.length} requests`;
        this.fail(request, new TritonError('INTERNAL', message), 'BACKEND');
      } else if (result.kind === 'error') {
        this.fail(request, result.error, 'BACKEND');
      } else if (request.decide()) {
        this.#statistics.recordSuccess(request.rows, now - request.startedAt, waitOf(request), times);
        if (this.#config.decoupled) request.complete();
        else this.#succeed(request, this.#answer(result.outputs, result.parameters));
      }
    }
  }

  #succeed(request: PendingRequest, answer: Answer): void {
    if (this.#order === undefined) request.succeed(answer);
    else this.#order.answer(request, () => request.succeed(answer));
    request.watcher?.answered(answer);
  }

  #answer(outputs: readonly InferTensor[], parameters: Parameters | undefined): Answer {
    return { modelName: this.#config.name, modelVersion: this.#modelVersion, parameters, outputs };
  }

  /** Hands the answers of a decoupled execution on as they come. */
  #streamTo(run: Run): ResponseStream {
    return {
      respond: (index, outputs, parameters) => {
        const request = run.batch[index];
        if (request === undefined || request.decided) return;
        try {
          return this.#respond(request, this.#answer(outputs, parameters));
        } catch (error) {
          // A sink that cannot take an answer loses its request, not the others of the batch.
          request.abandon();
          return this.fail(request, TritonError.from(error), 'OTHER');
        }
      },
      end: (index, error) => {
        const request = run.batch[index];
        if (request === undefined) return;
        if (error !== undefined) return this.fail(request, error, 'BACKEND');
        if (!request.decide()) return;
        const now = performance.now();
        const times = { ...NO_TIMES, computeInfer: now - request.dispatchedAt };
        this.#statistics.recordSuccess(request.rows, now - request.startedAt, waitOf(request), times);
        this.#statistics.responses.recordEnd(request.responses, 'emptyResponse', now - sinceResponse(request));
        request.complete();
      },
      recordMetrics: (update) => this.#statistics.custom.apply(update),
    };
  }

  #respond(request: PendingRequest, answer: Answer): void | Promise<void> {
    const now = performance.now();
    const infer = now - sinceResponse(request);
    const index = request.responses++;
    if (index === 0) this.#statistics.recordFirstResponse(now - request.startedAt);
    const slow = request.respond(answer);
    request.respondedAt = performance.now();
    this.#statistics.responses.recordResponse(index, infer, request.respondedAt - now);
    return slow;
  }

  /** The failure of an accepted request; nothing when its outcome is fixed already. */
  fail(request: PendingRequest, error: TritonError, reason: FailureReason): void {
    if (!request.decide()) return;
    const now = performance.now();
    this.#statistics.recordFailure(reason, now - request.startedAt);
    if (this.#config.decoupled && request.isDispatched) {
      const end = reason === 'CANCELED' ? 'cancel' : 'fail';
      this.#statistics.responses.recordEnd(request.responses, end, now - sinceResponse(request));
    }
    this.#deliverFailure(request, error);
  }

  /** Turns away a request that never was accepted: it appears in no statistic of the protocol's. */
  #refuse(request: PendingRequest, error: TritonError): void {
    if (!request.decide()) return;
    this.#statistics.recordRefusal(error.code);
    if (this.#log.level >= 1) this.#log.refused(request, error);
    this.#deliverFailure(request, error);
  }

  #deliverFailure(request: PendingRequest, error: TritonError): void {
    if (this.#order === undefined) request.fail(error);
    else this.#order.answer(request, () => request.fail(error));
    request.watcher?.failed(error);
  }

  #rejectExpired(now: number): void {
    if (this.#queue.nextExpiry() > now) return;
    this.#settleOffer();
    for (const request of this.#queue.expire(now)) {
      this.#statistics.pending--;
      if (this.#log.level >= 1) this.#log.expired(request, now);
      this.fail(request, new TritonError('UNAVAILABLE', 'Request timeout expired'), 'REJECTED');
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

// A request that took an execution over may have come after it began.
function waitOf({ startedAt, dispatchedAt }: PendingRequest): number {
  return Math.max(0, dispatchedAt - startedAt);
}

/** When a decoupled request had its last response, or began to be computed. */
function sinceResponse({ responses, respondedAt, dispatchedAt }: PendingRequest): number {
  return responses === 0 ? dispatchedAt : respondedAt;
}
