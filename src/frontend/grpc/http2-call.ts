// Answers one gRPC call on a stream of HTTP/2 (gRPC over HTTP/2, PROTOCOL-HTTP2.md). It writes gRPC's headers, status and
// trailers; the stream knows nothing of gRPC. Each template is made once, so that connections remember how they encoded it.

import type { Http2Stream } from '../../http2/http2-stream.js';
import { HeaderTemplate, type OutgoingHeaders } from '../../http2/outgoing-headers.js';
import { encodeGrpcMessage, GRPC_STATUS, type GrpcStatus } from '../../protocol/grpc/grpc-status.js';
import { ACCEPTED_ENCODINGS } from '../../protocol/grpc/message-compression.js';
import type { KeepaliveOptions } from './connection-keepalive.js';
import type { CallHead, GrpcCall, ResponseHeaders } from './grpc-call.js';

const ANSWER_FIELDS = [':status', '200', 'content-type', 'application/grpc'];
/** For answers that consist of headers only. */
const STATUS_ANSWER = new HeaderTemplate(ANSWER_FIELDS);
const RESPONSE = new HeaderTemplate([...ANSWER_FIELDS, 'grpc-accept-encoding', ACCEPTED_ENCODINGS]);
const OK_TRAILERS = new HeaderTemplate(['grpc-status', String(GRPC_STATUS.OK)]);
/** For all other trailers, which have nothing in common. */
const TRAILERS = new HeaderTemplate([]);

/** The connection that a call came on. */
export interface CallConnection {
  keepalive(options: Partial<KeepaliveOptions>): void;
}

export class Http2Call implements GrpcCall {
  readonly head: CallHead;
  readonly #stream: Http2Stream;
  readonly #connection: CallConnection | undefined;
  #hasBegun = false;
  #hasEnded = false;

  constructor(stream: Http2Stream, head: CallHead, connection?: CallConnection) {
    this.head = head;
    this.#stream = stream;
    this.#connection = connection;
  }

  respond(frame: readonly Uint8Array[], headers?: ResponseHeaders): void {
    if (this.#hasEnded) return;
    const head = headers === undefined ? RESPONSE : responseHead(headers);
    if (this.#stream.sendMessage(head, frame, OK_TRAILERS)) this.#end();
    else {
      const text = 'there is no room for the answer: too many bytes of answers wait for their clients';
      this.fail(GRPC_STATUS.RESOURCE_EXHAUSTED, text);
    }
  }

  write(frames: readonly Uint8Array[], headers?: ResponseHeaders): boolean {
    if (this.#hasEnded) return true;
    const stream = this.#stream;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      stream.sendHeaders(headers === undefined ? RESPONSE : responseHead(headers));
    }
    let isReady = true;
    for (const frame of frames) isReady = stream.sendData(frame);
    return isReady;
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#stream.sendHeaders(this.#hasBegun ? OK_TRAILERS : STATUS_ANSWER.with(OK_TRAILERS.fields), true);
  }

  fail(status: GrpcStatus, message: string, headers: ResponseHeaders = {}): void {
    if (this.#hasEnded) return;
    this.#end();
    const fields = ['grpc-status', String(status), ...Object.entries(headers).flat()];
    if (message !== '') fields.push('grpc-message', encodeGrpcMessage(message));
    this.#stream.sendHeaders((this.#hasBegun ? TRAILERS : STATUS_ANSWER).with(fields), true);
  }

  /** Answers a stream that is not a call with an HTTP status. */
  refuse(head: HeaderTemplate): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#stream.sendHeaders(head, true);
  }

  reset(): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#stream.reset('CANCEL');
  }

  pause(): void {
    this.#stream.consumesAtOnce = false;
  }

  resume(): void {
    this.#stream.consumesAtOnce = true;
    this.#stream.consume(Infinity);
  }

  hold(bytes: number, whole?: number): boolean {
    return !this.#hasEnded && this.#stream.hold(bytes, whole);
  }

  keepalive(options: Partial<KeepaliveOptions>): void {
    this.#connection?.keepalive(options);
  }

  receiveInto(target: Uint8Array): void {
    this.#stream.receiveInto(target);
  }

  #end(): void {
    this.#hasEnded = true;
    // Whatever the client still sends is read and thrown away.
    if (!this.#stream.consumesAtOnce) this.resume();
  }
}

function responseHead(headers: ResponseHeaders): OutgoingHeaders {
  return RESPONSE.with(Object.entries(headers).flat());
}
