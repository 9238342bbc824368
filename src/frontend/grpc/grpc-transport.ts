// What gRPC needs of HTTP/2, and nothing more: calls that arrive, their bytes, and how they end. Message framing,
// deadlines and methods are above it; sockets, frames and header compression below. An implementation may send a whole
// answer in one write, because it gets it in one call.

import type { GrpcStatus } from '../../protocol/grpc/grpc-status.js';

/**
 * A call that arrived. It ends once, by `respond`, `end`, `fail` or `reset`; ending it again, or after the client is
 * gone, does nothing.
 */
export interface GrpcCall {
  /** The method, as `/package.Service/Method`. */
  readonly path: string;
  /** A request header by its lower-case name. Of several lines one, joined by commas. */
  header(name: string): string | undefined;
  /** The request headers as they came: names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** Ends the call with status OK and these bytes, one whole frame. Takes ownership of them. */
  respond(frame: readonly Uint8Array[], headers?: ResponseHeaders): void;
  /**
   * Sends bytes of an answer of several messages, whole frames, and takes ownership of them. The first time
   * `headers` are sent before. False: the reader is slow, and `onDrain` will follow.
   */
  write(frames: readonly Uint8Array[], headers?: ResponseHeaders): boolean;
  /** Ends the call with status OK after what was written. */
  end(): void;
  /** Ends the call with this status after what was written. `headers` are sent beside the status. */
  fail(status: GrpcStatus, message: string, headers?: ResponseHeaders): void;
  /** Ends the call without a status, dropping what was written and not sent. */
  reset(): void;
  /** No `onData` and no `onHalfClose` until {@link resume}; the client has to wait. */
  pause(): void;
  resume(): void;
}

/** Further headers of an answer, by lower-case names. */
export type ResponseHeaders = Readonly<Record<string, string>>;

/** Gets the events of one call, until the call has ended. */
export interface CallListener {
  /** The next bytes of the request; nobody else writes to them. */
  onData(chunk: Buffer): void;
  /** The client will send no more. */
  onHalfClose(): void;
  /** What was written has been sent: the reader is no longer slow. */
  onDrain?(): void;
  /** The client cancelled, or its connection is gone; the call has ended. */
  onCancel(): void;
}

/** Decides what a call is for. Undefined when it has been ended already. */
export type AcceptCall = (call: GrpcCall) => CallListener | undefined;

/** A listening port for gRPC. */
export interface GrpcTransport {
  /** Resolves with the real port. Rejects with UNAVAILABLE when the address cannot be used. */
  listen(address: string, port: number): Promise<number>;
  /** No new connections; existing ones take no new calls and close after their last. */
  drain(): void;
  /** Drains, cancels the calls that have not ended, and resolves when no socket is open. Idempotent. */
  close(): Promise<void>;
  /** Open now. */
  readonly connections: number;
}

const CONTENT_TYPE = /^(?:application\/grpc(?:[+;].*)?)?$/i;

/** True for the content types of gRPC, a missing one included: Triton takes it too. */
export function isGrpcContentType(contentType: string | undefined): boolean {
  return contentType === undefined || contentType === 'application/grpc' || CONTENT_TYPE.test(contentType);
}
