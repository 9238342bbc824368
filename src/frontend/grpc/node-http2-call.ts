// One gRPC call on a stream of node:http2. What every call needs is made once: header objects, options, listeners that
// find their call on the stream.

import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';

import { encodeGrpcMessage, type GrpcStatus } from '../../protocol/grpc/grpc-status.js';
import { ACCEPTED_ENCODINGS } from '../../protocol/grpc/message-compression.js';
import type { AcceptCall, CallListener, GrpcCall, ResponseHeaders } from './grpc-transport.js';

const STATUS_HEADERS: OutgoingHttpHeaders = { ':status': 200, 'content-type': 'application/grpc' };
const RESPONSE_HEADERS: OutgoingHttpHeaders = { ...STATUS_HEADERS, 'grpc-accept-encoding': ACCEPTED_ENCODINGS };
const OK_TRAILERS: OutgoingHttpHeaders = { 'grpc-status': '0' };
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false };
/** Options of an answer that is all headers. */
export const HEADERS_ONLY = { endStream: true, sendDate: false };

const CALL = Symbol('call');

/** The headers of a request, as node:http2 gives them. */
export interface ReceivedHeaders {
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
}

/** The connection of a call, which wants to know of its traffic. */
export interface CallOwner {
  /** Its headers have come. */
  callStarted(call: SendingCall): void;
  /** Data of a request has come. */
  received(): void;
  /** Headers or data of an answer are handed over to be sent. */
  sent(): void;
  callClosed(call: SendingCall): void;
}

export interface SendingCall {
  /** Whether the system has not been given all that was handed over. */
  readonly unsent: boolean;
}

/** A stream that carries a call. */
type CallStream = ServerHttp2Stream & { [CALL]?: NodeHttp2Call };

export class NodeHttp2Call implements GrpcCall, SendingCall {
  readonly path: string;
  readonly rawHeaders: readonly string[];
  readonly #stream: CallStream;
  readonly #headers: IncomingHttpHeaders;
  readonly #owner: CallOwner;
  #listener: CallListener | undefined;
  #ended = false;
  #halfClosed = false;
  #writing = false;
  #trailers = OK_TRAILERS;

  constructor(stream: ServerHttp2Stream, received: ReceivedHeaders, owner: CallOwner) {
    this.path = received.headers[':path'] ?? '';
    this.rawHeaders = received.rawHeaders;
    this.#stream = stream;
    this.#headers = received.headers;
    this.#owner = owner;
  }

  /** Hands the call over; its events go to the listener that `accept` gives. */
  start(accept: AcceptCall): void {
    const stream = this.#stream;
    stream[CALL] = this;
    this.#owner.callStarted(this);
    stream.on('error', onError);
    stream.on('close', onClose);
    this.#listener = accept(this);
    stream.on('end', onEnd);
    stream.on('data', onData);
  }

  get unsent(): boolean {
    return this.#stream.writableLength > 0;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  respond(frame: readonly Uint8Array[], headers?: ResponseHeaders): void {
    const stream = this.#stream;
    if (!this.#end()) return;
    this.#begin(headers);
    if (frame.length === 1) {
      stream.end(frame[0]);
      return;
    }
    stream.cork();
    for (const chunk of frame) stream.write(chunk);
    stream.end();
  }

  write(frames: readonly Uint8Array[], headers?: ResponseHeaders): boolean {
    const stream = this.#stream;
    if (this.#ended || stream.destroyed || stream.closed) return true;
    if (!this.#writing) {
      this.#begin(headers);
      stream.on('drain', onDrain);
    }
    this.#owner.sent();
    if (frames.length === 1) return stream.write(frames[0]);
    stream.cork();
    let ready = true;
    for (const chunk of frames) ready = stream.write(chunk);
    stream.uncork();
    return ready;
  }

  end(): void {
    if (!this.#end()) return;
    if (this.#writing) this.#stream.end();
    else this.#answer({ ...STATUS_HEADERS, ...OK_TRAILERS });
  }

  fail(status: GrpcStatus, message: string, headers?: ResponseHeaders): void {
    if (!this.#end()) return;
    const answer: OutgoingHttpHeaders = { 'grpc-status': String(status), ...headers };
    if (message !== '') answer['grpc-message'] = encodeGrpcMessage(message);
    if (this.#writing) {
      this.#trailers = answer;
      this.#stream.end();
    } else this.#answer({ ...STATUS_HEADERS, ...answer });
  }

  reset(): void {
    if (this.#end()) this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  #begin(headers: ResponseHeaders | undefined): void {
    this.#writing = true;
    this.#owner.sent();
    this.#stream.on('wantTrailers', onWantTrailers);
    this.#stream.respond(headers === undefined ? RESPONSE_HEADERS : { ...RESPONSE_HEADERS, ...headers }, WITH_TRAILERS);
  }

  /** Answers with headers only. */
  #answer(headers: OutgoingHttpHeaders): void {
    this.#owner.sent();
    this.#stream.respond(headers, HEADERS_ONLY);
    this.closeWhenSent();
  }

  // True when the call ends now and can still be answered.
  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#listener = undefined;
    const stream = this.#stream;
    // Whatever the client still sends is read and dropped.
    if (stream.isPaused()) stream.resume();
    return !stream.destroyed && !stream.closed;
  }

  sendTrailers(): void {
    this.#stream.sendTrailers(this.#trailers);
    this.closeWhenSent();
  }

  drained(): void {
    this.#listener?.onDrain?.();
  }

  received(chunk: Buffer): void {
    this.#owner.received();
    this.#listener?.onData(chunk);
  }

  halfClosed(): void {
    this.#halfClosed = true;
    // A reset ends the request, too; that is told as a cancellation.
    if (!this.#stream.closed) this.#listener?.onHalfClose();
  }

  closed(): void {
    const listener = this.#listener;
    this.#owner.callClosed(this);
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

function onDrain(this: CallStream): void {
  this[CALL]!.drained();
}

function onWantTrailers(this: CallStream): void {
  this[CALL]!.sendTrailers();
}

function onClose(this: CallStream): void {
  this[CALL]!.closed();
}

// A reset by the client, or its connection lost: 'close' follows and tells the call.
function onError(): void {}
