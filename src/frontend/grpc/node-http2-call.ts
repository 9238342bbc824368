// One gRPC call on a stream of node:http2. What every call needs is made once: header objects, options, listeners that
// find their call on the stream.

import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';

import { encodeGrpcMessage, type GrpcStatus } from '../../protocol/grpc/grpc-status.js';
import type { AcceptCall, CallListener, GrpcCall } from './grpc-transport.js';

const RESPONSE_HEADERS: OutgoingHttpHeaders = { ':status': 200, 'content-type': 'application/grpc' };
const OK_TRAILERS: OutgoingHttpHeaders = { 'grpc-status': '0' };
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false };
/** Options of an answer that is all headers. */
export const HEADERS_ONLY = { endStream: true, sendDate: false };

const CALL = Symbol('call');

/** A stream that carries a call. */
type CallStream = ServerHttp2Stream & { [CALL]?: NodeHttp2Call };

export class NodeHttp2Call implements GrpcCall {
  readonly path: string;
  readonly #stream: CallStream;
  readonly #headers: IncomingHttpHeaders;
  #listener: CallListener | undefined;
  #ended = false;
  #halfClosed = false;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.path = headers[':path'] ?? '';
    this.#stream = stream;
    this.#headers = headers;
  }

  /** Hands the call over; its events go to the listener that `accept` gives. */
  start(accept: AcceptCall): void {
    const stream = this.#stream;
    stream[CALL] = this;
    stream.on('error', onError);
    stream.on('close', onClose);
    this.#listener = accept(this);
    stream.on('end', onEnd);
    stream.on('data', onData);
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  respond(frame: readonly Uint8Array[]): void {
    const stream = this.#stream;
    if (!this.#end()) return;
    stream.on('wantTrailers', onWantTrailers);
    stream.respond(RESPONSE_HEADERS, WITH_TRAILERS);
    if (frame.length === 1) {
      stream.end(frame[0]);
      return;
    }
    stream.cork();
    for (const chunk of frame) stream.write(chunk);
    stream.end();
  }

  fail(status: GrpcStatus, message: string, headers?: Readonly<Record<string, string>>): void {
    const stream = this.#stream;
    if (!this.#end()) return;
    const answer: OutgoingHttpHeaders = { ...RESPONSE_HEADERS, 'grpc-status': String(status), ...headers };
    if (message !== '') answer['grpc-message'] = encodeGrpcMessage(message);
    stream.respond(answer, HEADERS_ONLY);
    this.closeWhenSent();
  }

  // True when the call ends now and can still be answered.
  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#listener = undefined;
    return !this.#stream.destroyed && !this.#stream.closed;
  }

  received(chunk: Buffer): void {
    this.#listener?.onData(chunk);
  }

  halfClosed(): void {
    this.#halfClosed = true;
    // A reset ends the request, too; that is told as a cancellation.
    if (!this.#stream.closed) this.#listener?.onHalfClose();
  }

  cancelled(): void {
    const listener = this.#listener;
    this.#ended = true;
    this.#listener = undefined;
    listener?.onCancel();
  }

  /** A client that is still sending when it has its answer is told to stop. Trailers are sent by the next immediate. */
  closeWhenSent(): void {
    if (!this.#halfClosed) setImmediate(closeUnlessHalfClosed, this);
  }

  closeUnlessHalfClosed(): void {
    if (!this.#halfClosed && !this.#stream.destroyed) this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }
}

function closeUnlessHalfClosed(call: NodeHttp2Call): void {
  call.closeUnlessHalfClosed();
}

function onData(this: CallStream, chunk: Buffer): void {
  this[CALL]!.received(chunk);
}

function onEnd(this: CallStream): void {
  this[CALL]!.halfClosed();
}

function onWantTrailers(this: CallStream): void {
  this.sendTrailers(OK_TRAILERS);
  this[CALL]!.closeWhenSent();
}

function onClose(this: CallStream): void {
  this[CALL]!.cancelled();
}

// A reset by the client, or its connection lost: 'close' follows and tells the call.
function onError(): void {}
