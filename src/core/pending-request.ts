// One accepted request on its way through queue and execution. Its outcome is fixed once, by whoever is first;
// its answer follows at once, or later where answers are held back to keep their order.

import { TritonError } from '../errors.js';
import type { Parameters } from '../model/parameters.js';
import type { InferTensor, ModelInferRequest, ModelInferResponse } from '../model/exchange.js';
import type { Execution, ExecutionRequest, ExecutionTimes } from './instance/model-instance.js';
import type { RequestSequence } from '../model/request-sequence.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';
import type { StartedTrace } from '../model/traces.js';
import type { RequestTrace } from './request-trace.js';
import type { QueuedRequest, QueueEntry } from './scheduler/queue-entry.js';

/** An answer, but for the request's id. */
export type Answer = Omit<ModelInferResponse, 'id'>;

/** Learns a request's outcome when it is fixed. */
export interface OutcomeWatcher {
  answered(answer: Answer): void;
  failed(error: TritonError): void;
  /** The client of the request, which executes, is gone. True: the execution is to go on, for another request. */
  takeOver(): boolean;
}

/** What a request belongs to while it is under way. */
export interface RequestOwner {
  /** The client is gone: the request is to leave the queue and to fail. */
  cancelled(request: PendingRequest): void;
  /** The request ended, however. */
  ended(request: PendingRequest): void;
}

export class PendingRequest implements ExecutionRequest, QueuedRequest, InflightRequest {
  readonly id: string;
  readonly parameters: Parameters | undefined;
  readonly inputs: readonly (InferTensor | undefined)[];
  readonly rows: number;
  readonly memory: readonly ArrayBuffer[] | undefined;
  readonly callers: readonly string[] | undefined;
  /** What the callable's thread is to know of its trace. */
  readonly trace: StartedTrace | undefined;
  readonly requestedOutputs: readonly string[];
  readonly sequence: RequestSequence | undefined;
  readonly priority: number;
  readonly timeoutMicroseconds: number;
  /** Moment of arrival, on the monotonic clock. */
  readonly startedAt: number;
  /** Moment when its execution began; see {@link isDispatched}. */
  dispatchedAt = -Infinity;
  /** Responses of a decoupled model so far, and the moment of the last one. */
  responses = 0;
  respondedAt = 0;
  /** How long the response cache was searched for its answer. */
  lookupMs = 0;
  entry: QueueEntry | undefined = undefined;
  watcher: OutcomeWatcher | undefined = undefined;
  #decided = false;
  #execution: Execution | undefined;
  #batch: PendingRequest[] | undefined;
  #index = 0;
  /** Whether its execution was begun for another request: that one is what the callable knows of. */
  #tookOver = false;
  readonly #owner: RequestOwner;
  readonly #sink: ResponseSink;
  /** Undefined for a request that is not traced. */
  readonly #trace: RequestTrace | undefined;

  constructor(
    request: ModelInferRequest,
    shape: { readonly inputs: readonly (InferTensor | undefined)[]; readonly rows: number },
    place: {
      readonly owner: RequestOwner;
      readonly sink: ResponseSink;
      readonly now: number;
      readonly trace?: RequestTrace | undefined;
    },
  ) {
    this.id = request.id;
    this.parameters = request.parameters;
    this.requestedOutputs = request.outputs;
    this.sequence = request.sequence;
    this.priority = request.priority;
    this.timeoutMicroseconds = request.timeoutMicroseconds;
    this.inputs = shape.inputs;
    this.memory = request.memory;
    this.callers = request.callers;
    this.#trace = place.trace;
    this.trace = place.trace?.hosted;
    this.rows = shape.rows;
    this.startedAt = place.now;
    this.#owner = place.owner;
    this.#sink = place.sink;
  }

  /** Whether its execution has begun. */
  get isDispatched(): boolean {
    return this.dispatchedAt !== -Infinity;
  }

  /** Whether its outcome is fixed. */
  get decided(): boolean {
    return this.#decided;
  }

  /** Fixes the outcome, which the caller then delivers. False when it was fixed before. */
  decide(): boolean {
    if (this.#decided) return false;
    this.#decided = true;
    this.#execution = undefined;
    this.#batch = undefined;
    return true;
  }

  /** It is about to wait. */
  queued(): void {
    this.#trace?.queued();
  }

  /** Its execution has ended and took so long. */
  executed(times: ExecutionTimes): void {
    this.#trace?.executed(this.dispatchedAt, times);
  }

  /** The request is number `index` of a batch whose execution has begun. */
  executing(execution: Execution, batch: PendingRequest[], index: number): void {
    if (this.#decided) return execution.cancel(index);
    this.#execution = execution;
    this.#batch = batch;
    this.#index = index;
  }

  /** Gives its place in the execution to a request that asks the same. */
  handOver(successor: PendingRequest): void {
    const { watcher } = this;
    this.watcher = undefined;
    successor.watcher = watcher;
    successor.dispatchedAt = this.dispatchedAt;
    successor.#tookOver = true;
    if (this.#execution === undefined || this.#batch === undefined) return;
    this.#batch[this.#index] = successor;
    successor.executing(this.#execution, this.#batch, this.#index);
    this.#execution = undefined;
  }

  /** Tells the execution, if there is one, that nobody waits for this request any more. */
  abandon(): void {
    this.#execution?.cancel(this.#index);
  }

  cancel(): void {
    if (this.#decided) return;
    if (this.#execution === undefined || !this.watcher?.takeOver()) this.abandon();
    this.#owner.cancelled(this);
  }

  /** Delivers the outcome: an answer. */
  succeed(answer: Answer): void {
    this.#owner.ended(this);
    this.#trace?.responding(answer.outputs);
    try {
      const slow = this.#sink.respond(this.#responseOf(answer), true);
      this.#trace?.responded();
      // Nothing waits for the reader of a last answer, nor for one that is gone.
      if (slow !== undefined) slow.catch(() => undefined);
    } catch (error) {
      this.#refuse(TritonError.from(error));
    }
    this.#trace?.answered(this.#isHosted);
  }

  /** One of several answers of a decoupled model. A promise: the reader is slow. Throws what the sink throws. */
  respond(answer: Answer): void | Promise<void> {
    if (this.#decided) return;
    this.#trace?.responding(answer.outputs);
    const slow = this.#sink.respond(this.#responseOf(answer), false);
    this.#trace?.responded();
    return slow;
  }

  /** Delivers the outcome of a decoupled model's request: it has had all its answers. */
  complete(): void {
    this.#owner.ended(this);
    try {
      this.#sink.complete();
    } catch (error) {
      this.#refuse(TritonError.from(error));
    }
    this.#trace?.answered(this.#isHosted);
  }

  /** Delivers the outcome: a refusal or failure. */
  fail(error: TritonError): void {
    this.#owner.ended(this);
    this.#trace?.failed(error, this.#isHosted);
    this.#refuse(error);
  }

  // Spelled out, because all responses then have one hidden class: of copies by spreading each has one of its own, and whoever
  // reads them looks every member up.
  #responseOf({ modelName, modelVersion, parameters, outputs, memory }: Answer): ModelInferResponse {
    return { modelName, modelVersion, id: this.id, parameters, outputs, memory };
  }

  /** Whether a callable was given this very request. */
  get #isHosted(): boolean {
    return this.isDispatched && !this.#tookOver;
  }

  #refuse(error: TritonError): void {
    try {
      this.#sink.fail(error);
    } catch {
      // The client of this sink is lost; the other requests of its batch must not be.
    }
  }
}
