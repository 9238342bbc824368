// What gRPC needs of HTTP/2, and nothing more: calls that arrive, their bytes, and how they end. Message framing,
// deadlines and methods are above it; sockets, frames and header compression below. An implementation may send a whole
// answer in one write, because it gets it in one call.

import type { GrpcStatus } from '../../protocol/grpc/grpc-status.js';

/** A call that arrived. It ends once, by `respond` or `fail`; ending it again, or after the client is gone, does nothing. */
export interface GrpcCall {
  /** The method, as `/package.Service/Method`. */
  readonly path: string;
  /** A request header by its lower-case name. */
  header(name: string): string | undefined;
  /** Ends the call with status OK and these bytes, one whole frame. Takes ownership of them. */
  respond(frame: readonly Uint8Array[]): void;
  /** Ends the call without a message. `headers` are sent beside the status. */
  fail(status: GrpcStatus, message: string, headers?: Readonly<Record<string, string>>): void;
}

/** Gets the events of one call, until the call has ended. */
export interface CallListener {
  /** The next bytes of the request; nobody else writes to them. */
  onData(chunk: Buffer): void;
  /** The client will send no more. */
  onHalfClose(): void;
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
}

const CONTENT_TYPE = /^(?:application\/grpc(?:[+;].*)?)?$/i;

/** True for the content types of gRPC, a missing one included: Triton takes it too. */
export function isGrpcContentType(contentType: string | undefined): boolean {
  return contentType === undefined || contentType === 'application/grpc' || CONTENT_TYPE.test(contentType);
}
