// One unary gRPC call on an HTTP/2 connection: a request message out, a response message and the status back.

import { TritonError } from '../errors.js';
import type { HeaderList } from '../http2/header-list.js';
import type { Http2Error } from '../http2/http2-error.js';
import type { Http2Stream } from '../http2/http2-stream.js';
import type { OutgoingHeaders } from '../http2/outgoing-headers.js';
import { CODE_OF_STATUS, decodeGrpcMessage, GRPC_STATUS, type GrpcStatus } from '../protocol/grpc/grpc-status.js';
import { formatGrpcTimeout } from '../protocol/grpc/grpc-timeout.js';
import { MessageFrameReader } from '../protocol/grpc/message-frame.js';
import type { Call } from './call.js';
import { connectionError, notTheProtocol } from './connection-error.js';
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
const MAX_MESSAGE_BYTES = 2_147_483_647;

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

function requestHeaders({ method, headers }: UnaryRequest, call: Call, connection: Http2Connection): OutgoingHeaders {
  const fields = ['grpc-timeout', formatGrpcTimeout(call.remainingMs)];
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
    this.headers = requestHeaders(request, call, connection);
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
    if (this.#reader === undefined || !this.#isGrpc()) return;
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
    if (this.#head !== undefined && !this.#isGrpc()) throw this.#notGrpc(this.#head);
    if (this.#head === undefined && error?.code === 'REFUSED_STREAM') {
      return { kind: 'unprocessed', error: connectionError(new Error('the server refused the stream'), address) };
    }
    throw this.#lost(error);
  }

  #finish(status: number, encodedMessage: string | undefined): UnaryResult {
    if (status === GRPC_STATUS.OK) return { kind: 'message', message: this.#onlyMessage() };
    if (status === GRPC_STATUS.DEADLINE_EXCEEDED) throw this.#call.deadlineError();
    const code = CODE_OF_STATUS[status as GrpcStatus] ?? 'UNKNOWN';
    const message = decodeGrpcMessage(encodedMessage ?? '');
    throw new TritonError(
      code,
      message === '' ? `${this.#request.address} answered with gRPC status ${status}` : message,
    );
  }

  #onlyMessage(): Buffer {
    const failure = this.#reader?.failure;
    if (failure !== undefined) throw this.#malformed(failure.message);
    if (this.#reader?.idle === false) throw this.#malformed('it ends inside a message');
    if (this.#messages.length !== 1) throw this.#malformed(`expected one message, got ${this.#messages.length}`);
    const message = this.#messages[0]!;
    // A part of a larger piece of memory would keep all of it alive and share it with other calls.
    return message.byteLength === message.buffer.byteLength ? message : Buffer.from(new Uint8Array(message).buffer);
  }

  #malformed(detail: string): TritonError {
    return new TritonError('INTERNAL', `malformed response of the server: ${detail}`);
  }

  #isGrpc(): boolean {
    const head = this.#head;
    return head?.get(':status') === '200' && head.get('content-type')?.startsWith('application/grpc') === true;
  }

  // A proxy's answer, or no gRPC server at all. The codes are those that gRPC lays down for statuses of HTTP.
  #notGrpc(head: HeaderList): TritonError {
    const status = Number(head.get(':status'));
    const message = `${this.#request.address} answered with HTTP status ${status} and content type ${head.get('content-type') ?? 'none'}, expected gRPC`;
    switch (status) {
      case 404:
        return new TritonError('UNSUPPORTED', message);
      case 429:
      case 502:
      case 503:
      case 504:
        return new TritonError('UNAVAILABLE', message);
      default:
        return new TritonError(status === 400 ? 'INTERNAL' : 'UNKNOWN', message);
    }
  }

  #lost(error: Http2Error | undefined): TritonError {
    const { address } = this.#request;
    if (error === undefined) return connectionError(new Error('the answer ends without a status'), address);
    if (error.code === 'CONNECTION_LOST') {
      return connectionError(error.cause ?? new Error('connection lost'), address);
    }
    const { usable } = this.#connection;
    if (error.code === 'CANCEL' && usable) return new TritonError('CANCELLED', `the call was cancelled by ${address}`);
    // Its bytes are none of HTTP/2.
    if (!usable && this.#head === undefined) return notTheProtocol(error, address, 'gRPC');
    return connectionError(error, address);
  }
}
