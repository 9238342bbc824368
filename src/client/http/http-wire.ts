// The interface between REST and HTTP: our own connections, or `fetch` outside Node. A body that is awaited whole lies in memory of
// its own.

import type { TritonError } from '../../errors.js';
import type { Call } from '../call.js';
import type { Headers } from '../transport.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** Below the URL's prefix. */
  readonly path: string;
  readonly headers: Headers;
  /** The body of a POST. */
  readonly chunks: readonly Uint8Array[];
}

/** The headers of an answer that the client reads. */
export interface AnswerHeaders {
  /** Over `fetch` always undefined: browsers decode what they receive. */
  readonly 'content-encoding'?: string | undefined;
  readonly 'content-length'?: string | undefined;
  readonly 'content-type'?: string | undefined;
  readonly location?: string | undefined;
  readonly 'retry-after'?: string | undefined;
  /** Where the JSON of the body ends and its tensors begin. */
  readonly 'inference-header-content-length'?: string | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/** An answer whose reader takes it in parts. */
export interface PartedResponse {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Call it once. */
  parts(): AsyncIterator<Uint8Array, unknown>;
  /** Valid after the last part: whether the whole answer has come. */
  readonly complete: boolean;
  /** Drops the rest of the answer, and tells the server to stop. If the answer is complete, its connection is kept for other requests. */
  cancel(): void;
}

/** Its methods reject with TritonErrors only. When the call is aborted, they reject at once with the call's error. */
export interface HttpWire {
  /** The server's address, for error messages. */
  readonly address: string;
  /** The limit for an answer, or for a part of a stream. */
  readonly maxResponseBytes: number;
  exchange(request: HttpRequest, call: Call): Promise<HttpResponse>;
  /** Settles with the answer's head. When the call is aborted, the reader of the parts must cancel the answer. */
  open(request: HttpRequest, call: Call): Promise<PartedResponse>;
  /** The error of parts that could not be read. */
  failure(error: unknown): TritonError;
  /** Closes all connections, idle or not; settles when they are closed. */
  close(): Promise<void>;
}

export const CLOSED_EARLY = 'the connection was closed before the answer was complete';
