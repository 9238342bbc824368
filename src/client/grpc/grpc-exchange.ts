// One gRPC call on an HTTP/2 stream, with any number of response messages. It sends the request, reads the header blocks, and makes
// the reader of messages. It also tells what the end of the stream means. Subclasses handle the messages.

import { parseDigits } from '../../ascii.js';
import { TritonError } from '../../errors.js';
import { ALIGNED_BYTES, newMemory } from '../../model/exchange.js';
import type { HeaderList } from '../../http2/header-list.js';
import type { Http2Error } from '../../http2/http2-error.js';
import type { Http2Stream } from '../../http2/http2-stream.js';
import type { OutgoingHeaders } from '../../http2/outgoing-headers.js';
import { GRPC_STATUS } from '../../protocol/grpc/grpc-status.js';
import { formatGrpcTimeout } from '../../protocol/grpc/grpc-timeout.js';
import { longFieldAt } from '../../protocol/grpc/long-field.js';
import { MessageFrameReader, type MessageMemory } from '../../protocol/grpc/message-frame.js';
import type { Call } from '../call.js';
import { tooLargeError, unprocessedError } from '../connection-error.js';
import { isGrpcHead, lostError, notGrpcError, statusError } from './grpc-outcome.js';
import type { Http2Connection, StreamUser } from './http2-connection.js';
import type { Headers } from '../transport.js';

export interface GrpcRequest {
  /** A method of the service GRPCInferenceService, or the path of any other. */
  readonly method: string;
  /** The frame of the request message. */
  readonly chunks: readonly Uint8Array[];
  readonly headers: Headers;
  /** The limit for one message of the answer. */
  readonly maxResponseBytes: number;
  /** For error messages. */
  readonly address: string;
}

/** The server promises that it did nothing, so the request may be sent again. */
export interface Unprocessed {
  readonly kind: 'unprocessed';
  readonly error: TritonError;
}

const MOST_FOREIGN_BYTES = 65_536;

export abstract class GrpcExchange implements StreamUser {
  readonly headers: OutgoingHeaders;
  protected readonly connection: Http2Connection;
  protected readonly call: Call;
  readonly #request: GrpcRequest;
  #stream: Http2Stream | undefined;
  /** Reads the messages. Undefined before the head, and when the answer is not gRPC. */
  #reader: MessageFrameReader | undefined;
  #head: HeaderList | undefined;
  #trailers: HeaderList | undefined;
  /** Bytes of an answer that is not gRPC. */
  #foreignBytes = 0;

  /** `timeoutMs`: how long the call may take; undefined when that is not known. */
  constructor(connection: Http2Connection, request: GrpcRequest, call: Call, timeoutMs: number | undefined) {
    this.headers = requestHeaders(request, connection, timeoutMs);
    this.connection = connection;
    this.#request = request;
    this.call = call;
  }

  protected get stream(): Http2Stream | undefined {
    return this.#stream;
  }

  opened(stream: Http2Stream): void {
    this.#stream = stream;
    const { clock } = this.call;
    if (clock !== undefined) this.connection.whenConnected(() => clock.connected());
    const { chunks } = this.#request;
    for (let i = 0; i < chunks.length; i++) stream.sendData(chunks[i]!, i === chunks.length - 1);
  }

  onHeaders(headers: HeaderList): void {
    // An interim response (1xx) before the answer.
    if (headers.get(':status')?.startsWith('1') === true) return;
    if (this.#head !== undefined) {
      this.#trailers = headers;
      return;
    }
    this.#head = headers;
    this.call.clock?.answered();
    if (isGrpcHead(headers))
      this.#reader = new MessageFrameReader(
        this.#request.maxResponseBytes,
        headers.get('grpc-encoding'),
        false,
        RESPONSE_MEMORY,
      );
    // In an answer without messages, the status comes with the first headers.
    if (headers.get('grpc-status') !== undefined) this.#trailers = headers;
  }

  onData(chunk: Buffer): void {
    if (this.#reader === undefined) this.#countForeign(chunk.length);
    else {
      // The bytes are valid only until this method returns.
      this.#reader.add(Buffer.from(chunk));
      this.read(this.#reader);
    }
  }

  /** The target that a stream was given is full. */
  onFilled(): void {
    this.#reader!.filled();
    this.read(this.#reader!);
  }

  /** Takes the messages that have come. */
  protected abstract read(reader: MessageFrameReader): void;

  /** The received bytes have made the call fail. The rest is useless, and may never end. */
  protected abstract failed(error: TritonError): void;

  // Reads on in an error page, because a status may follow, but only up to a limit.
  #countForeign(length: number): void {
    this.#foreignBytes += length;
    if (this.#foreignBytes <= MOST_FOREIGN_BYTES || this.#head === undefined) return;
    this.failed(notGrpcError(this.#head, this.#request.address));
  }

  onEnd(): void {
    this.ended(undefined);
  }

  onClose(error: Http2Error | undefined): void {
    this.ended(error);
  }

  /** No more will come. May be called more than once. */
  protected abstract ended(error: Http2Error | undefined): void;

  /** Tells the server to stop. Nothing more of the call is reported. */
  protected leave(): void {
    if (!this.connection.forget(this)) this.#stream?.reset('CANCEL');
  }

  /** Throws the error that the end of the call stands for. Returns undefined after a success. */
  protected outcome(error: Http2Error | undefined): Unprocessed | undefined {
    const { address } = this.#request;
    const status = this.#trailers?.get('grpc-status');
    if (status !== undefined) {
      const code = parseDigits(status);
      if (code === undefined) throw malformed(`grpc-status '${status}'`);
      if (code === GRPC_STATUS.OK) return this.#checkMessages();
      const encodedMessage = this.#trailers?.get('grpc-message');
      const pushback = this.#trailers?.get('grpc-retry-pushback-ms');
      throw statusError({ status: code, encodedMessage, pushback, address }, this.call);
    }
    if (this.#head !== undefined && !isGrpcHead(this.#head)) throw notGrpcError(this.#head, address);
    if (this.#head === undefined && error?.code === 'REFUSED_STREAM') {
      return { kind: 'unprocessed', error: unprocessedError('the server refused the stream', address) };
    }
    throw lostError(error, { address, head: this.#head, connection: this.connection });
  }

  /** The error if the bytes are not gRPC messages, or if a message is too large. */
  protected get failure(): TritonError | undefined {
    const failure = this.#reader?.failure;
    // The reader's text for servers speaks of a request.
    if (failure?.status === GRPC_STATUS.INTERNAL) return malformed('the prefix of a message cannot be read');
    if (failure?.status !== GRPC_STATUS.RESOURCE_EXHAUSTED) return failure && malformed(failure.message);
    return tooLargeError(this.#request.maxResponseBytes, this.#request.address);
  }

  #checkMessages(): undefined {
    if (this.#reader === undefined) throw notGrpcError(this.#head!, this.#request.address);
    if (!this.#reader.idle) throw malformed('it ends inside a message');
  }
}

export function malformed(detail: string): TritonError {
  return new TritonError('INTERNAL', `malformed response of the server: ${detail}`);
}

/** Memory that the caller may keep. Its layout allows a view of the first large tensor. */
const RESPONSE_MEMORY: MessageMemory = { allocate: newMemory, spare: () => undefined, tensorsAt: longFieldAt };

/**
 * Copies a message that lies in a larger piece of memory: it would keep that memory alive and share it with other calls. A few extra
 * bytes are fine: they are the message's prefix or its alignment.
 */
export function inOwnMemory(message: Buffer): Buffer {
  const isOwn = message.buffer.byteLength - message.byteLength < ALIGNED_BYTES;
  return isOwn ? message : Buffer.from(new Uint8Array(message).buffer);
}

/** White space around a header value does not belong to it (RFC 9110, section 5.5), and HTTP/2 does not carry it. */
const SPACE_AROUND = /^[\t ]+|[\t ]+$/g;

function requestHeaders(
  { method, headers }: GrpcRequest,
  connection: Http2Connection,
  timeoutMs: number | undefined,
): OutgoingHeaders {
  const fields = timeoutMs === undefined ? [] : ['grpc-timeout', formatGrpcTimeout(timeoutMs)];
  if (headers['user-agent'] === undefined) fields.push('user-agent', 'grpc-node-tstriton');
  for (const [name, value] of Object.entries(headers)) fields.push(name, value.replaceAll(SPACE_AROUND, ''));
  const path = method.startsWith('/') ? method : `/inference.GRPCInferenceService/${method}`;
  return connection.callHeaders(path).with(fields);
}
