// One unary gRPC call on an HTTP/2 connection: a request message out, a response message and the status back.

import { constants, type ClientHttp2Stream, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';

import { TritonError } from '../errors.js';
import { CODE_OF_STATUS, decodeGrpcMessage, GRPC_STATUS, type GrpcStatus } from '../protocol/grpc/grpc-status.js';
import { formatGrpcTimeout } from '../protocol/grpc/grpc-timeout.js';
import { MessageFrameReader } from '../protocol/grpc/message-frame.js';
import type { Call } from './call.js';
import { connectionError, nodeErrorCode, notTheProtocol } from './connection-error.js';
import type { Http2Connection } from './http2-connection.js';
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
    let stream: ClientHttp2Stream;
    try {
      stream = connection.session.request(requestHeaders(request, call), { endStream: false });
    } catch (error) {
      // The session ended between being chosen and being used.
      resolve({ kind: 'unprocessed', error: connectionError(error, request.address) });
      return;
    }
    const bytesReadBefore = connection.bytesRead;
    const answer = new Answer(request.address, call);
    connection.acquire();
    let settled = false;
    const settle = (finish: () => void) => {
      if (settled) return;
      settled = true;
      forget();
      finish();
      connection.release();
    };
    const forget = call.onAbort((error) => {
      stream.close(constants.NGHTTP2_CANCEL);
      settle(() => reject(error));
      // Silent all the time: perhaps a connection that is dead without our knowing.
      if (call.expired && connection.bytesRead === bytesReadBefore) connection.retire();
    });
    stream.on('response', (headers) => answer.begin(headers));
    stream.on('data', (chunk: Buffer) => answer.read(chunk));
    stream.on('trailers', (trailers) => answer.end(trailers));
    stream.on('error', (error) => answer.fail(error));
    stream.on('close', () => {
      settle(() => {
        try {
          resolve(answer.result(stream.rstCode, connection));
        } catch (error) {
          reject(TritonError.from(error));
        }
      });
    });
    stream.cork();
    for (const chunk of request.chunks) stream.write(chunk);
    stream.end();
    stream.uncork();
  });
}

function requestHeaders({ method, headers }: UnaryRequest, call: Call): OutgoingHttpHeaders {
  return {
    ...headers,
    ':method': 'POST',
    ':path': `/inference.GRPCInferenceService/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    'user-agent': headers['user-agent'] ?? 'grpc-node-tstriton',
    'grpc-timeout': formatGrpcTimeout(call.remainingMs),
  };
}

/** Collects what comes back, and says in the end what it means. */
class Answer {
  readonly #address: string;
  readonly #call: Call;
  readonly #messages: Buffer[] = [];
  #reader: MessageFrameReader | undefined;
  #headers: IncomingHttpHeaders | undefined;
  #trailers: IncomingHttpHeaders | undefined;
  #error: unknown;

  constructor(address: string, call: Call) {
    this.#address = address;
    this.#call = call;
  }

  begin(headers: IncomingHttpHeaders): void {
    this.#headers = headers;
    this.#reader = new MessageFrameReader(MAX_MESSAGE_BYTES, headers['grpc-encoding'] as string | undefined);
    // Nothing but the status: it comes with the first headers.
    if (headers['grpc-status'] !== undefined) this.#trailers = headers;
  }

  read(chunk: Buffer): void {
    if (this.#reader !== undefined && this.#isGrpc()) this.#messages.push(...this.#reader.push(chunk));
  }

  end(trailers: IncomingHttpHeaders): void {
    this.#trailers = trailers;
  }

  fail(error: unknown): void {
    this.#error ??= error;
  }

  /** The stream is closed: no more will come. */
  result(rstCode: number | undefined, connection: Http2Connection): UnaryResult {
    const status = this.#trailers?.['grpc-status'];
    if (status !== undefined)
      return this.#finish(Number(status), this.#trailers?.['grpc-message'] as string | undefined);
    if (this.#headers !== undefined && !this.#isGrpc()) throw this.#notGrpc(this.#headers);
    if (this.#headers === undefined && rstCode === constants.NGHTTP2_REFUSED_STREAM) {
      return { kind: 'unprocessed', error: connectionError(new Error('the server refused the stream'), this.#address) };
    }
    throw this.#lost(rstCode, connection);
  }

  #finish(status: number, encodedMessage: string | undefined): UnaryResult {
    if (status === GRPC_STATUS.OK) return { kind: 'message', message: this.#onlyMessage() };
    if (status === GRPC_STATUS.DEADLINE_EXCEEDED) throw this.#call.deadlineError();
    const code = CODE_OF_STATUS[status as GrpcStatus] ?? 'UNKNOWN';
    const message = decodeGrpcMessage(encodedMessage ?? '');
    throw new TritonError(code, message === '' ? `${this.#address} answered with gRPC status ${status}` : message);
  }

  #onlyMessage(): Buffer {
    const failure = this.#reader?.failure;
    if (failure !== undefined) throw this.#malformed(failure.message);
    if (this.#reader?.idle === false) throw this.#malformed('it ends inside a message');
    if (this.#messages.length !== 1) throw this.#malformed(`expected one message, got ${this.#messages.length}`);
    const message = this.#messages[0]!;
    // A part of Node's receive buffer would keep all of it alive and share it with other calls.
    return message.byteLength === message.buffer.byteLength ? message : Buffer.from(new Uint8Array(message).buffer);
  }

  #malformed(detail: string): TritonError {
    return new TritonError('INTERNAL', `malformed response of the server: ${detail}`);
  }

  #isGrpc(): boolean {
    return (
      Number(this.#headers?.[':status']) === 200 &&
      String(this.#headers?.['content-type']).startsWith('application/grpc')
    );
  }

  // A proxy's answer, or no gRPC server at all. The codes are those that gRPC lays down for statuses of HTTP.
  #notGrpc(headers: IncomingHttpHeaders): TritonError {
    const status = Number(headers[':status']);
    const message = `${this.#address} answered with HTTP status ${status} and content type ${headers['content-type'] ?? 'none'}, expected gRPC`;
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

  #lost(rstCode: number | undefined, connection: Http2Connection): TritonError {
    // Node closes streams with this code too when their connection is lost.
    if (rstCode === constants.NGHTTP2_CANCEL && connection.usable)
      return new TritonError('CANCELLED', `the call was cancelled by ${this.#address}`);
    const error =
      connection.error ?? this.#error ?? new Error(connection.usable ? closedEarly(rstCode) : 'connection lost');
    const notHttp2 = nodeErrorCode(error) === 'ERR_HTTP2_ERROR' && this.#headers === undefined;
    return notHttp2 ? notTheProtocol(error, this.#address, 'gRPC') : connectionError(error, this.#address);
  }
}

function closedEarly(rstCode: number | undefined): string {
  return `stream closed with HTTP/2 error ${rstCode ?? 0} before the answer was complete`;
}
