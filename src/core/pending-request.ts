// One accepted request on its way through queue and execution. It ends exactly once: whoever tries a second
// time is told so and changes nothing.

import { TritonError } from '../errors.js';
import type { Parameters } from '../model/callable.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import type { Execution, ExecutionRequest } from './instance/model-instance.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';
import type { QueuedRequest, QueueEntry } from './scheduler/batch-queue.js';

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
  readonly body: ArrayBuffer | undefined;
  readonly requestedOutputs: readonly string[];
  readonly priority: number;
  readonly timeoutMicroseconds: number;
  /** Moment of arrival, on the monotonic clock. */
  readonly startedAt: number;
  /** Moment when its execution began. */
  dispatchedAt = 0;
  entry: QueueEntry | undefined = undefined;
  cancelled = false;
  #ended = false;
  #execution: Execution | undefined;
  #index = 0;
  readonly #owner: RequestOwner;
  readonly #sink: ResponseSink;

  constructor(
    request: ModelInferRequest,
    shape: { readonly inputs: readonly (InferTensor | undefined)[]; readonly rows: number },
    place: { readonly owner: RequestOwner; readonly sink: ResponseSink; readonly now: number },
  ) {
    this.id = request.id;
    this.parameters = request.parameters;
    this.requestedOutputs = request.outputs;
    this.priority = request.priority;
    this.timeoutMicroseconds = request.timeoutMicroseconds;
    this.inputs = shape.inputs;
    this.body = request.body;
    this.rows = shape.rows;
    this.startedAt = place.now;
    this.#owner = place.owner;
    this.#sink = place.sink;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The request is number `index` of an execution that has begun. */
  executing(execution: Execution, index: number): void {
    if (this.#ended) return;
    this.#execution = execution;
    this.#index = index;
    if (this.cancelled) execution.cancel(index);
  }

  cancel(): void {
    if (this.#ended || this.cancelled) return;
    this.cancelled = true;
    this.#execution?.cancel(this.#index);
    this.#owner.cancelled(this);
  }

  /** Answers. False when the request had ended before. */
  succeed(modelName: string, modelVersion: string, outputs: readonly InferTensor[]): boolean {
    if (!this.#end()) return false;
    this.#sink.respond({ modelName, modelVersion, id: this.id, parameters: undefined, outputs });
    return true;
  }

  /** Refuses or fails. False when the request had ended before. */
  fail(error: TritonError): boolean {
    if (!this.#end()) return false;
    this.#sink.fail(error);
    return true;
  }

  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#execution = undefined;
    this.#owner.ended(this);
    return true;
  }
}
