// One gRPC call on a stream of HTTP/2: gRPC's status, trailers and headers, as streams that know nothing of gRPC carry them
// (gRPC over HTTP/2, PROTOCOL-HTTP2.md). Templates are made once: connections remember how they encoded each.

import type { HeaderList } from '../../http2/header-list.js';
import type { Http2Stream, StreamListener } from '../../http2/http2-stream.js';
import { HeaderTemplate, type OutgoingHeaders } from '../../http2/outgoing-headers.js';
import { encodeGrpcMessage, GRPC_STATUS, type GrpcStatus } from '../../protocol/grpc/grpc-status.js';
import { ACCEPTED_ENCODINGS } from '../../protocol/grpc/message-compression.js';
import { NO_ROOM, type AcceptCall, type CallListener, type GrpcCall, type ResponseHeaders } from './grpc-call.js';

const ANSWER_FIELDS = [':status', '200', 'content-type', 'application/grpc'];
/** Of answers that are all headers. */
const STATUS_ANSWER = new HeaderTemplate(ANSWER_FIELDS);
const RESPONSE = new HeaderTemplate([...ANSWER_FIELDS, 'grpc-accept-encoding', ACCEPTED_ENCODINGS]);
const OK_TRAILERS = new HeaderTemplate(['grpc-status', String(GRPC_STATUS.OK)]);
/** Other trailers have nothing in common. */
const TRAILERS = new HeaderTemplate([]);

export class Http2Call implements GrpcCall, StreamListener {
  readonly path: string;
  readonly #stream: Http2Stream;
  readonly #headers: HeaderList;
  #listener: CallListener | undefined;
  #hasBegun = false;
  #hasEnded = false;

  constructor(stream: Http2Stream, headers: HeaderList) {
    this.path = headers.get(':path') ?? '';
    this.#stream = stream;
    this.#headers = headers;
  }

  /** Hands the call over; its events go to the listener that `accept` gives. */
  start(accept: AcceptCall): void {
    const listener = accept(this);
    if (!this.#hasEnded) this.#listener = listener;
  }

  get rawHeaders(): readonly string[] {
    return this.#headers.fields;
  }

  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  respond(frame: readonly Uint8Array[], headers?: ResponseHeaders): void {
    if (this.#hasEnded) return;
    if (!this.#stream.hasRoom(frame)) {
      this.fail(
        GRPC_STATUS.RESOURCE_EXHAUSTED,
        'there is no room for the answer: too many bytes of answers wait for their clients',
      );
      return;
    }
    this.#end();
    this.#stream.sendMessage(responseHead(headers), frame, OK_TRAILERS);
  }

  write(frames: readonly Uint8Array[], headers?: ResponseHeaders): boolean {
    if (this.#hasEnded) return true;
    const stream = this.#stream;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      stream.sendHeaders(responseHead(headers));
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

  /** Ends what is no call with a status of HTTP. */
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
    const stream = this.#stream;
    if (stream.consumesAtOnce) return;
    stream.consumesAtOnce = true;
    stream.consume(Infinity);
  }

  hold(bytes: number, whole?: number): boolean {
    return !this.#hasEnded && this.#stream.hold(bytes, whole);
  }

  receiveInto(target: Uint8Array): void {
    this.#stream.receiveInto(target);
  }

  onData(chunk: Buffer): void {
    this.#listener?.onData(chunk);
  }

  onFilled(): void {
    this.#listener?.onFilled?.();
  }

  onNoRoom(): void {
    if (this.#listener?.onNoRoom === undefined) this.fail(GRPC_STATUS.RESOURCE_EXHAUSTED, NO_ROOM);
    else this.#listener.onNoRoom();
  }

  onEnd(): void {
    this.#listener?.onHalfClose();
  }

  onDrain(): void {
    this.#listener?.onDrain?.();
  }

  onClose(): void {
    const listener = this.#listener;
    this.#hasEnded = true;
    this.#listener = undefined;
    listener?.onCancel();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#listener = undefined;
    // Whatever the client still sends is read and dropped.
    this.resume();
  }
}

function responseHead(headers: ResponseHeaders | undefined): OutgoingHeaders {
  return headers === undefined ? RESPONSE : RESPONSE.with(Object.entries(headers).flat());
}
