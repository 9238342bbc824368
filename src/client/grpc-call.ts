// One unary gRPC call on an HTTP/2 connection: a request message out, a response message and the status back.

import { TritonError } from '../errors.js';
import type { HeaderList } from '../http2/header-list.js';
import type { Http2Error } from '../http2/http2-error.js';
import type { Http2Stream } from '../http2/http2-stream.js';
import type { OutgoingHeaders } from '../http2/outgoing-headers.js';
import { GRPC_STATUS } from '../protocol/grpc/grpc-status.js';
import { formatGrpcTimeout } from '../protocol/grpc/grpc-timeout.js';
import { MessageFrameReader } from '../protocol/grpc/message-frame.js';
import type { Call } from './call.js';
import { unprocessedError } from './connection-error.js';
import { isGrpcHead, lostError, notGrpcError, statusError } from './grpc-outcome.js';
import type { Http2Connection, StreamUser } from './http2-connection.js';
import type { Headers } from './transport.js';

export interface UnaryRequest {
  /** Of the service GRPCInferenceService. */
  readonly method: string;
  /** The frame of the request message. */
  readonly chunks: readonly Uint8Array[];
  readonly headers: Headers;
  /** For messages. */
  readonly address: string;
}

/** gRPC's own limit, and Triton's. */
export const MAX_MESSAGE_BYTES = 2_147_483_647;

/** What became of a call. `unprocessed`: the server promises that it did nothing, so it may be sent again. */
export type UnaryResult =
  | { readonly kind: 'message'; readonly message: Buffer }
  | { readonly kind: 'unprocessed'; readonly error: TritonError };

/** Rejects with the error that the status stands for, UNAVAILABLE without an answer, or the call's own error when aborted. */
export function unaryCall(connection: Http2Connection, request: UnaryRequest, call: Call): Promise<UnaryResult> {
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(connection, request, call);
    const receivedBefore = connection.receivedBytes;
    connection.acquire();
    const forget = call.onAbort((error) => {
      exchange.cancel();
      reject(error);
      connection.release();
      // Silent all the time: perhaps a connection that is dead without our knowing.
      if (call.expired && connection.receivedBytes === receivedBefore) connection.retire();
    });
    exchange.start((result) => {
      forget();
      try {
        resolve(result());
      } catch (error) {
        reject(TritonError.from(error));
      }
      connection.release();
    });
  });
}

/** White space around a value is no part of it (RFC 9110, section 5.5), and HTTP/2 does not carry it. */
const SPACE_AROUND = /^[\t ]+|[\t ]+$/g;

/** `timeoutMs`: how long the call may take; undefined when nobody knows. */
export function requestHeaders(
  { method, headers }: UnaryRequest,
  connection: Http2Connection,
  timeoutMs: number | undefined,
): OutgoingHeaders {
  const fields = timeoutMs === undefined ? [] : ['grpc-timeout', formatGrpcTimeout(timeoutMs)];
  if (headers['user-agent'] === undefined) fields.push('user-agent', 'grpc-node-tstriton');
  for (const [name, value] of Object.entries(headers)) fields.push(name, value.replaceAll(SPACE_AROUND, ''));
  return connection.callHeaders(`/inference.GRPCInferenceService/${method}`).with(fields);
}

/** One stream: sends the request, collects what comes back, and says in the end what it means. */
class Exchange implements StreamUser {
  readonly headers: OutgoingHeaders;
  readonly #connection: Http2Connection;
  readonly #request: UnaryRequest;
  readonly #call: Call;
  readonly #messages: Buffer[] = [];
  #stream: Http2Stream | undefined;
  #reader: MessageFrameReader | undefined;
  #head: HeaderList | undefined;
  #trailers: HeaderList | undefined;
  /** Takes the outcome; undefined when nobody waits for it any more. */
  #settle: ((result: () => UnaryResult) => void) | undefined;

  constructor(connection: Http2Connection, request: UnaryRequest, call: Call) {
    this.headers = requestHeaders(request, connection, call.remainingMs);
    this.#connection = connection;
    this.#request = request;
    this.#call = call;
  }

  /** `settle` is called once, unless the exchange is cancelled before. */
  start(settle: (result: () => UnaryResult) => void): void {
    this.#settle = settle;
    this.#connection.open(this);
  }

  cancel(): void {
    this.#settle = undefined;
    if (!this.#connection.forget(this)) this.#stream?.reset('CANCEL');
  }

  opened(stream: Http2Stream): void {
    this.#stream = stream;
    const { chunks } = this.#request;
    for (let i = 0; i < chunks.length; i++) stream.sendData(chunks[i]!, i === chunks.length - 1);
  }

  onHeaders(headers: HeaderList): void {
    // One before the answer.
    if (headers.get(':status')?.startsWith('1') === true) return;
    if (this.#head !== undefined) {
      this.#trailers = headers;
      return;
    }
    this.#head = headers;
    this.#reader = new MessageFrameReader(MAX_MESSAGE_BYTES, headers.get('grpc-encoding'));
    // Nothing but the status: it comes with the first headers.
    if (headers.get('grpc-status') !== undefined) this.#trailers = headers;
  }

  onData(chunk: Buffer): void {
    if (this.#reader === undefined || !isGrpcHead(this.#head)) return;
    this.#reader.add(Buffer.from(chunk));
    this.#read(this.#reader);
  }

  onFilled(): void {
    this.#reader!.filled();
    this.#read(this.#reader!);
  }

  #read(reader: MessageFrameReader): void {
    for (let message = reader.next(); message !== undefined; message = reader.next())
      this.#messages.push(message.bytes);
    const target = reader.target();
    if (target !== undefined) this.#stream!.receiveInto(target);
  }

  onEnd(): void {
    this.#end(undefined);
  }

  onClose(error: Http2Error | undefined): void {
    this.#end(error);
  }

  /** No more will come. */
  #end(error: Http2Error | undefined): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(() => this.#result(error));
  }

  #result(error: Http2Error | undefined): UnaryResult {
    const { address } = this.#request;
    const status = this.#trailers?.get('grpc-status');
    if (status !== undefined) return this.#finish(Number(status), this.#trailers?.get('grpc-message'));
    if (this.#head !== undefined && !isGrpcHead(this.#head)) throw notGrpcError(this.#head, address);
    if (this.#head === undefined && error?.code === 'REFUSED_STREAM') {
      return { kind: 'unprocessed', error: unprocessedError('the server refused the stream', address) };
    }
    throw lostError(error, { address, head: this.#head, usable: this.#connection.usable });
  }

  #finish(status: number, encodedMessage: string | undefined): UnaryResult {
    if (status === GRPC_STATUS.OK) return { kind: 'message', message: this.#onlyMessage() };
    throw statusError({ status, encodedMessage, address: this.#request.address }, this.#call);
  }

  #onlyMessage(): Buffer {
    const failure = this.#reader?.failure;
    if (failure !== undefined) throw this.#malformed(failure.message);
    if (this.#reader?.idle === false) throw this.#malformed('it ends inside a message');
    if (this.#messages.length !== 1) throw this.#malformed(`expected one message, got ${this.#messages.length}`);
    return inOwnMemory(this.#messages[0]!);
  }

  #malformed(detail: string): TritonError {
    return new TritonError('INTERNAL', `malformed response of the server: ${detail}`);
  }
}

/** A part of a larger piece of memory would keep all of it alive and share it with other calls. */
export function inOwnMemory(message: Buffer): Buffer {
  return message.byteLength === message.buffer.byteLength ? message : Buffer.from(new Uint8Array(message).buffer);
}
