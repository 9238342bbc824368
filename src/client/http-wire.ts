// What REST needs of whatever carries HTTP: connections of ours, or `fetch` where there is no Node. Bodies that are awaited whole
// lie in memory of their own.

import type { TritonError } from '../errors.js';
import type { Call } from './call.js';
import type { Headers } from './transport.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** Below the URL's prefix. */
  readonly path: string;
  readonly headers: Headers;
  /** The body of a POST. */
  readonly chunks: readonly Uint8Array[];
}

/** What is read of the headers of an answer. */
export interface AnswerHeaders {
  readonly 'content-length'?: string | undefined;
  readonly 'content-type'?: string | undefined;
  readonly 'retry-after'?: string | undefined;
  /** Where the JSON of the body ends and its tensors begin. */
  readonly 'inference-header-content-length'?: string | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/** An answer that comes in parts, which its reader takes. */
export interface PartedResponse {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** To be called once. */
  parts(): AsyncIterator<Uint8Array, unknown>;
  /** Whether all of the answer has come, once there are no more parts. */
  readonly complete: boolean;
  /** Nobody wants the rest: the server is told to stop. An answer that is complete leaves its connection to others. */
  cancel(): void;
}

/** Its methods reject with TritonErrors only; when the call is aborted, with the call's error, at once. */
export interface HttpWire {
  /** Of the server, for messages. */
  readonly address: string;
  /** More is not taken of an answer, or of a part of a stream. */
  readonly maxResponseBytes: number;
  exchange(request: HttpRequest, call: Call): Promise<HttpResponse>;
  /** Settles with the answer's head. Whoever takes the parts cancels the answer when the call is aborted. */
  open(request: HttpRequest, call: Call): Promise<PartedResponse>;
  /** The error of parts that could not be read. */
  failure(error: unknown): TritonError;
  /** Closes all connections, idle or not; settles when they are closed. */
  close(): Promise<void>;
}

export const CLOSED_EARLY = 'the connection was closed before the answer was complete';
