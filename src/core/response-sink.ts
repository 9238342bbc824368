// Where the answers of one request go. Code that accepts a request must end its sink exactly once.

import type { TritonError } from '../errors.js';
import type { ModelInferResponse } from '../model/exchange.js';

export interface ResponseSink {
  /**
   * An answer. Its bytes stay as they are; other answers may share them, so nobody writes to them or transfers them.
   * `final`: it is the last one and ends the sink, as the only answer of a model that is not decoupled always does.
   * A promise: the reader is slow, and the next answer should wait for it.
   */
  respond(response: ModelInferResponse, final: boolean): void | Promise<void>;
  /** Of decoupled models only: ends the sink without a further answer (Triton's flag-only final response). */
  complete(): void;
  /**
   * The refusal or failure; of decoupled models possibly after answers. Ends the sink. `refused`: the request was turned away
   * before it was accepted.
   */
  fail(error: TritonError, refused?: boolean): void;
}

/** A request under way. */
export interface InflightRequest {
  /**
   * The client is gone: a queued request leaves the queue at once, a running one sees its AbortSignal.
   * The sink then ends with CANCELLED, unless the request's outcome was fixed before.
   */
  cancel(): void;
}
