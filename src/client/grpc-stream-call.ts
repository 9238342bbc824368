// One gRPC call with one request and any number of response messages, which are taken one by one: the server may be ahead of
// whoever takes them by no more than the stream's window.

import { TritonError } from '../errors.js';
import type { HeaderList } from '../http2/header-list.js';
import type { Http2Error } from '../http2/http2-error.js';
import type { Http2Stream } from '../http2/http2-stream.js';
import type { OutgoingHeaders } from '../http2/outgoing-headers.js';
import { GRPC_STATUS } from '../protocol/grpc/grpc-status.js';
import { MessageFrameReader } from '../protocol/grpc/message-frame.js';
import type { Call } from './call.js';
import { unprocessedError } from './connection-error.js';
import { inOwnMemory, MAX_MESSAGE_BYTES, requestHeaders, type UnaryRequest } from './grpc-call.js';
import { isGrpcHead, lostError, notGrpcError, statusError } from './grpc-outcome.js';
import type { Http2Connection, StreamUser } from './http2-connection.js';

/** `unprocessed`: the server promises that it did nothing, so the request may be sent again. */
export type StreamStep =
  | { readonly kind: 'message'; readonly message: Buffer }
  | { readonly kind: 'end' }
  | { readonly kind: 'unprocessed'; readonly error: TritonError };

type EndStep = Exclude<StreamStep, { readonly kind: 'message' }>;

type Outcome = { readonly step: EndStep } | { readonly error: TritonError };

interface Waiter {
  readonly resolve: (step: StreamStep) => void;
  readonly reject: (error: TritonError) => void;
}

export class GrpcStreamCall implements StreamUser {
  readonly headers: OutgoingHeaders;
  readonly #connection: Http2Connection;
  readonly #request: UnaryRequest;
  readonly #call: Call;
  readonly #messages: Buffer[] = [];
  readonly #forget: () => void;
  #stream: Http2Stream | undefined;
  #reader: MessageFrameReader | undefined;
  #head: HeaderList | undefined;
  #trailers: HeaderList | undefined;
  /** Bytes that came and that the server does not know yet to be consumed. */
  #unconsumed = 0;
  #waiter: Waiter | undefined;
  /** How it ended, to be told behind the messages. */
  #outcome: Outcome | undefined;

  /** Sends the request. */
  constructor(connection: Http2Connection, request: UnaryRequest, call: Call) {
    this.headers = requestHeaders(request, connection, undefined);
    this.#connection = connection;
    this.#request = request;
    this.#call = call;
    const receivedBefore = connection.receivedBytes;
    connection.acquire();
    this.#forget = call.onAbort((error) => {
      this.#messages.length = 0;
      this.#leave({ error });
      // Silent all the time: perhaps a connection that is dead without our knowing.
      if (call.expired && connection.receivedBytes === receivedBefore) connection.retire();
    });
    if (this.#outcome === undefined) connection.open(this);
  }

  /** To be called again when the promise has settled. */
  next(): Promise<StreamStep> {
    const message = this.#messages.shift();
    if (message !== undefined) {
      this.#consume();
      return Promise.resolve({ kind: 'message', message });
    }
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
      this.#tell();
    });
  }

  /** Nobody wants the rest: the server is told to stop. */
  cancel(): void {
    this.#messages.length = 0;
    this.#leave({ step: { kind: 'end' } });
  }

  opened(stream: Http2Stream): void {
    this.#stream = stream;
    stream.consumesAtOnce = false;
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
    this.#unconsumed += chunk.length;
    const reader = this.#reader;
    if (reader !== undefined && isGrpcHead(this.#head)) {
      reader.add(Buffer.from(chunk));
      for (let message = reader.next(); message !== undefined; message = reader.next())
        this.#messages.push(inOwnMemory(message.bytes));
      if (reader.failure !== undefined) {
        this.#leave({ error: this.#malformed(reader.failure.message) });
        return;
      }
    }
    this.#tell();
    this.#consume();
  }

  onEnd(): void {
    this.#ended(undefined);
  }

  onClose(error: Http2Error | undefined): void {
    this.#ended(error);
  }

  /** What has come is consumed unless a whole message waits for its reader. */
  #consume(): void {
    if (this.#messages.length > 0 || this.#unconsumed === 0) return;
    this.#stream?.consume(this.#unconsumed);
    this.#unconsumed = 0;
  }

  #tell(): void {
    const waiter = this.#waiter;
    if (waiter === undefined) return;
    const message = this.#messages.shift();
    if (message === undefined && this.#outcome === undefined) return;
    this.#waiter = undefined;
    if (message !== undefined) waiter.resolve({ kind: 'message', message });
    else if ('error' in this.#outcome!) waiter.reject(this.#outcome.error);
    else waiter.resolve(this.#outcome!.step);
  }

  /** No more will come. */
  #ended(error: Http2Error | undefined): void {
    if (this.#outcome !== undefined) return;
    try {
      this.#finish({ step: this.#endOf(error) });
    } catch (failure) {
      this.#finish({ error: TritonError.from(failure) });
    }
  }

  /** Ends it from our side. */
  #leave(outcome: Outcome): void {
    if (this.#outcome !== undefined) return;
    if (!this.#connection.forget(this)) this.#stream?.reset('CANCEL');
    this.#finish(outcome);
  }

  #finish(outcome: Outcome): void {
    this.#outcome = outcome;
    // Not yet set when the call had been aborted before it began.
    this.#forget?.();
    this.#connection.release();
    this.#tell();
  }

  #endOf(error: Http2Error | undefined): EndStep {
    const { address } = this.#request;
    const status = this.#trailers?.get('grpc-status');
    if (status !== undefined) {
      if (Number(status) !== GRPC_STATUS.OK) {
        const encodedMessage = this.#trailers?.get('grpc-message');
        throw statusError({ status: Number(status), encodedMessage, address }, this.#call);
      }
      if (this.#reader?.idle === false) throw this.#malformed('it ends inside a message');
      return { kind: 'end' };
    }
    if (this.#head !== undefined && !isGrpcHead(this.#head)) throw notGrpcError(this.#head, address);
    if (this.#head === undefined && error?.code === 'REFUSED_STREAM') {
      return { kind: 'unprocessed', error: unprocessedError('the server refused the stream', address) };
    }
    throw lostError(error, { address, head: this.#head, usable: this.#connection.usable });
  }

  #malformed(detail: string): TritonError {
    return new TritonError('INTERNAL', `malformed response of the server: ${detail}`);
  }
}
