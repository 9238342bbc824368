// One accepted request on its way through queue and execution. The first outcome counts;
// its answer follows at once, or later where answers are held back to keep their order.

import { TritonError } from '../../errors.js';
import type { Parameters } from '../../model/parameters.js';
import type { InferTensor, ModelInferRequest, ModelInferResponse } from '../../model/exchange.js';
import type { Execution, ExecutionRequest } from '../instance/model-instance.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import type { InflightRequest, ResponseSink } from '../response-sink.js';
import { epochNow, type StartedTrace } from '../../observability/traces.js';
import type { RequestTrace } from './request-trace.js';
import type { Withdrawal } from './answer-order.js';
import type { LiveSequence } from '../sequences/live-sequence.js';
import type { QueuedRequest, QueueEntry } from './queue-entry.js';

/** An answer, but for the request's id. */
export type Answer = Omit<ModelInferResponse, 'id'>;

/** Learns a request's outcome when it is fixed. */
export interface OutcomeWatcher {
  answered(answer: Answer): void;
  /** `isLeft`: its client is gone, which is its own affair. */
  failed(error: TritonError, isLeft: boolean): void;
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
  /** None once it has failed. */
  inputs: readonly (InferTensor | undefined)[];
  readonly rows: number;
  /** Undefined where an execution must leave its inputs, which may be executed again. */
  memory: readonly ArrayBuffer[] | undefined;
  readonly callers: readonly string[] | undefined;
  /** What the callable's thread is to know of its trace. */
  trace: StartedTrace | undefined;
  readonly requestedOutputs: readonly string[];
  sequence: RequestSequence | undefined;
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
  /** Room that its BYTES elements have taken. */
  elementBytes = 0;
  entry: QueueEntry | undefined = undefined;
  /** Since when it waits for its next execution: since its arrival, or the end of the one before. */
  waitsSince: number;
  /** While its reader is slow: the answers that it has not taken. Its next execution waits for that. */
  slow: Promise<void> | undefined = undefined;
  /** Whether it was executed, and is to be again. */
  isIterating = false;
  /** While an instance has it ahead: finds out whether its execution has begun, or puts it back in the queue. */
  settle: (() => void) | undefined = undefined;
  /** Of an outcome that is fixed and waits for its turn, or has. */
  withdrawal: Withdrawal | undefined = undefined;
  live: LiveSequence | undefined = undefined;
  watcher: OutcomeWatcher | undefined = undefined;
  #decided = false;
  #execution: Execution | undefined;
  #batch: PendingRequest[] | undefined;
  #index = 0;
  /** Whether its execution was begun for another request: that one is what the callable knows of. */
  #tookOver = false;
  readonly #owner: RequestOwner;
  #sink: ResponseSink;
  /** Undefined for a request that is not traced. */
  follower: RequestTrace | undefined;

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
    this.follower = place.trace;
    this.trace = place.trace?.hosted;
    this.rows = shape.rows;
    this.startedAt = place.now;
    this.waitsSince = place.now;
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

  /** The request is number `index` of a batch whose execution has begun. */
  executing(execution: Execution, batch: PendingRequest[], index: number): void {
    if (this.#decided) return execution.cancel(index);
    this.#execution = execution;
    this.#batch = batch;
    this.#index = index;
  }

  /** It waits for another execution. */
  wait(now: number): void {
    this.isIterating = true;
    this.waitsSince = now;
    this.dispatchedAt = -Infinity;
    this.#execution = undefined;
    this.#batch = undefined;
    const { sequence, trace } = this;
    if (sequence?.start === true) this.sequence = { ...sequence, start: false };
    // Each execution has a span of its own.
    if (trace !== undefined) this.trace = { context: trace.context, startedAt: epochNow() };
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
    const { withdrawal } = this;
    this.withdrawal = undefined;
    // Nobody is left to take the answer.
    if (withdrawal?.() === true) return this.fail(new TritonError('CANCELLED', ''));
    if (this.#decided) return;
    this.settle?.();
    if (this.#execution === undefined || !this.watcher?.takeOver()) this.abandon();
    this.#owner.cancelled(this);
  }

  /** Delivers the outcome: an answer. */
  succeed(answer: Answer): void {
    this.#owner.ended(this);
    this.follower?.responding(answer.outputs);
    try {
      const slow = this.#sink.respond(this.#responseOf(answer), true);
      this.follower?.responded();
      // Nothing waits for the reader of a last answer, nor for one that is gone.
      if (slow !== undefined) slow.catch(() => undefined);
    } catch (error) {
      this.#refuse(TritonError.from(error));
    }
    this.follower?.answered(this.#isHosted);
  }

  /** One of several answers of a decoupled model. A promise: the reader is slow. Throws what the sink throws. */
  respond(answer: Answer): void | Promise<void> {
    if (this.#decided) return;
    this.follower?.responding(answer.outputs);
    const slow = this.#sink.respond(this.#responseOf(answer), false);
    this.follower?.responded();
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
    this.follower?.answered(this.#isHosted);
  }

  /** Delivers the outcome: a refusal or failure. */
  fail(error: TritonError, refused = false): void {
    this.#owner.ended(this);
    this.follower?.failed(error, this.#isHosted);
    this.#refuse(error, refused);
    // What it held is not counted any more. A list may keep the request itself until its turn comes.
    this.inputs = NOTHING;
    this.memory = undefined;
    this.follower = undefined;
    this.#sink = NOBODY;
  }

  // Spelled out, because all responses then have one hidden class: copies by spreading would each have one of their own, and
  // readers would look every member up.
  #responseOf({ modelName, modelVersion, parameters, outputs, memory }: Answer): ModelInferResponse {
    return { modelName, modelVersion, id: this.id, parameters, outputs, memory };
  }

  /** Whether a callable was given this very request. */
  get #isHosted(): boolean {
    return (this.isDispatched || this.isIterating) && !this.#tookOver;
  }

  #refuse(error: TritonError, refused = false): void {
    try {
      this.#sink.fail(error, refused);
    } catch {
      // The client of this sink is lost; the other requests of its batch must not be.
    }
  }
}

const NOTHING: readonly InferTensor[] = [];
const NOBODY: ResponseSink = { respond: () => undefined, complete: () => undefined, fail: () => undefined };
