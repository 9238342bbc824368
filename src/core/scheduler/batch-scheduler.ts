// The shell around BatchQueue: one per model version. It holds the instances, dispatches what the queue
// decides, and owns the model's only timer. A request enters through `enqueue` and leaves through exactly one
// of: an execution's result, a refusal, a timeout, a cancellation, `stop`.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { Execution, ExecutionDone, ExecutionResult, ExecutionTimes, ModelInstance } from '../instance/model-instance.js';
import type { PendingRequest } from '../pending-request.js';
import type { FailureReason, InferenceStatistics } from '../statistics.js';
import { AnswerOrder } from './answer-order.js';
import { BatchQueue, type Decision } from './batch-queue.js';
import { batchCompatibility } from './batch-compatibility.js';

/** Delays shorter than this many milliseconds are waited out by polling: a timer's floor is about 1.1 ms. */
const SHORTEST_TIMER = 1.5;
/** setTimeout's longest delay. */
const LONGEST_TIMER = 2 ** 31 - 1;

interface Slot {
  readonly instance: ModelInstance;
  running: number;
}

export class BatchScheduler {
  readonly #config: CompleteModelConfig;
  readonly #statistics: InferenceStatistics;
  readonly #queue: BatchQueue<PendingRequest>;
  readonly #slots: Slot[] = [];
  readonly #order: AnswerOrder | undefined;
  readonly #modelVersion: string;
  #nextSlot = 0;
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #running = new Set<readonly PendingRequest[]>();
  #stopping = false;

  constructor(config: CompleteModelConfig, statistics: InferenceStatistics) {
    this.#config = config;
    this.#statistics = statistics;
    this.#modelVersion = String(config.version);
    this.#order = config.dynamicBatching?.preserveOrdering ? new AnswerOrder() : undefined;
    this.#queue = new BatchQueue<PendingRequest>({
      maxBatchSize: config.maxBatchSize,
      batcher: config.dynamicBatching,
      compatible: batchCompatibility(config),
    });
  }

  /** Starts using an instance. */
  addInstance(instance: ModelInstance): void {
    this.#slots.push({ instance, running: 0 });
    this.#wake();
  }

  /** Stops giving batches to an instance. */
  removeInstance(instance: ModelInstance): void {
    const index = this.#slots.findIndex((slot) => slot.instance === instance);
    if (index >= 0) this.#slots.splice(index, 1);
  }

  /** Takes ownership of the request. */
  enqueue(request: PendingRequest): void {
    if (this.#stopping) {
      request.fail(new TritonError('UNAVAILABLE', `[request id: ${request.id || '<id_unknown>'}] Server is stopping, scheduler for model has stopped accepting new inference requests`));
      return;
    }
    try {
      this.#queue.enqueue(request, request.startedAt);
    } catch (error) {
      request.fail(TritonError.from(error));
      return;
    }
    this.#statistics.pending++;
    this.#order?.takeTurn(request);
    this.#wake();
  }

  /** The client of a request is gone: it is over, whether it waited or ran. */
  cancelled(request: PendingRequest): void {
    if (this.#queue.remove(request)) this.#statistics.pending--;
    this.#fail(request, new TritonError('CANCELLED', ''), 'CANCELED');
  }

  /** Accepts nothing more; what waits and runs goes on. */
  stopAccepting(): void {
    this.#stopping = true;
  }

  /** Fails what still waits or runs, and lets go of the timer. Executions under way are abandoned. */
  stop(error: TritonError): void {
    this.#stopping = true;
    this.#disarm();
    for (const request of this.#queue.drain()) {
      this.#statistics.pending--;
      this.#fail(request, error, 'OTHER');
    }
    for (const batch of this.#running) {
      for (const request of batch) if (!request.ended && !request.cancelled) this.#fail(request, error, 'OTHER');
    }
    this.#running.clear();
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
    // Each instance gets at most one batch here: one that computes in this very thread must not keep the
    // event loop from everything else while the queue lasts.
    for (let free = this.#freeSlot(); free !== undefined; free = this.#freeSlot()) {
      const decision = this.#queue.next(now);
      if (decision.kind === 'run') {
        if (this.#execute(free, decision)) return this.#wakeIfWaiting();
        continue;
      }
      if (decision.kind === 'wait') this.#arm(decision.until, now);
      return;
    }
    if (this.#queue.nextExpiry() !== Infinity) this.#arm(this.#queue.nextExpiry(), now);
  }

  #wakeIfWaiting(): void {
    if (this.#queue.size > 0) this.#wake();
  }

  /** The next free instance, in turn. */
  #freeSlot(): Slot | undefined {
    const count = this.#slots.length;
    for (let tried = 0; tried < count; tried++) {
      const slot = this.#slots[(this.#nextSlot + tried) % count]!;
      if (slot.running < this.#config.concurrency) {
        this.#nextSlot = (this.#nextSlot + tried + 1) % count;
        return slot;
      }
    }
    return undefined;
  }

  /** Runs a batch; true when it ended before returning, that is: when it was computed in this thread. */
  #execute(slot: Slot, { batch, rows }: Extract<Decision<PendingRequest>, { kind: 'run' }>): boolean {
    const dispatchedAt = performance.now();
    this.#statistics.pending -= batch.length;
    for (const request of batch) request.dispatchedAt = dispatchedAt;
    slot.running++;
    this.#running.add(batch);
    let ended = false;
    const done: ExecutionDone = (results, times) => {
      if (ended) return;
      ended = true;
      slot.running--;
      if (!this.#running.delete(batch)) return;
      this.#statistics.recordExecution(rows, times);
      for (let i = 0; i < batch.length; i++) this.#finish(batch[i]!, results[i]!, times);
      this.#wakeIfWaiting();
    };
    let execution: Execution;
    try {
      execution = slot.instance.execute(batch, done);
    } catch (error) {
      const failure = { kind: 'error', error: TritonError.from(error) } as const;
      done(batch.map(() => failure), { computeInput: 0, computeInfer: 0, computeOutput: 0 });
      return true;
    }
    if (!ended) for (let i = 0; i < batch.length; i++) batch[i]!.executing(execution, i);
    return ended;
  }

  #finish(request: PendingRequest, result: ExecutionResult, times: ExecutionTimes): void {
    if (request.ended || request.cancelled) return;
    if (result.kind === 'error') return this.#fail(request, result.error, 'BACKEND');
    this.#statistics.recordSuccess(request.rows, performance.now() - request.startedAt, request.dispatchedAt - request.startedAt, times);
    const { name } = this.#config;
    const answer = () => void request.succeed(name, this.#modelVersion, result.outputs);
    if (this.#order === undefined) answer();
    else this.#order.answer(request, answer);
  }

  #fail(request: PendingRequest, error: TritonError, reason: FailureReason): void {
    this.#statistics.recordFailure(reason, performance.now() - request.startedAt);
    const answer = () => void request.fail(error);
    if (this.#order === undefined) answer();
    else this.#order.answer(request, answer);
  }

  #rejectExpired(now: number): void {
    for (const request of this.#queue.expire(now)) {
      this.#statistics.pending--;
      this.#fail(request, new TritonError('UNAVAILABLE', 'Request timeout expired'), 'REJECTED');
    }
  }

  #arm(until: number, now: number): void {
    const delay = until - now;
    if (delay < SHORTEST_TIMER) this.#wake();
    else this.#timer = setTimeout(() => this.#dispatch(), Math.min(Math.floor(delay), LONGEST_TIMER));
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
