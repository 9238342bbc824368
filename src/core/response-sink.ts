// Where the answers of one request go. Whoever accepts a request must end its sink exactly once.

import type { TritonError } from '../errors.js';
import type { ModelInferResponse } from '../model/exchange.js';

export interface ResponseSink {
  /** The answer; takes ownership of the response's bytes. Ends the sink. */
  respond(response: ModelInferResponse): void;
  /** The refusal or failure. Ends the sink. */
  fail(error: TritonError): void;
}

/** A request under way. */
export interface InflightRequest {
  /**
   * The client is gone: a queued request leaves the queue at once, a running one sees its AbortSignal.
   * The sink then ends with CANCELLED, unless the request's outcome was fixed before. Where answers keep the
   * order of the requests, it ends when its turn comes.
   */
  cancel(): void;
}
