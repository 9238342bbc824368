// One gRPC call with one request and any number of response messages, which are taken one by one: the server may be ahead of
// whoever takes them by no more than the stream's window.

import { TritonError } from '../errors.js';
import type { Http2Error } from '../http2/http2-error.js';
import type { Http2Stream } from '../http2/http2-stream.js';
import type { MessageFrameReader } from '../protocol/grpc/message-frame.js';
import type { Call } from './call.js';
import { GrpcExchange, inOwnMemory, type GrpcRequest, type Unprocessed } from './grpc-exchange.js';
import type { Http2Connection } from './http2-connection.js';

export type StreamStep = { readonly kind: 'message'; readonly message: Buffer } | EndStep;

type EndStep = { readonly kind: 'end' } | Unprocessed;

type Outcome = { readonly step: EndStep } | { readonly error: TritonError };

interface Waiter {
  readonly resolve: (step: StreamStep) => void;
  readonly reject: (error: TritonError) => void;
}

export class GrpcStreamCall extends GrpcExchange {
  readonly #messages: Buffer[] = [];
  readonly #forget: () => void;
  /** Bytes that came and that the server does not know yet to be consumed. */
  #unconsumed = 0;
  #waiter: Waiter | undefined;
  /** How it ended, to be told behind the messages. */
  #outcome: Outcome | undefined;

  /** Sends the request. */
  constructor(connection: Http2Connection, request: GrpcRequest, call: Call) {
    super(connection, request, call, undefined);
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

  override opened(stream: Http2Stream): void {
    stream.consumesAtOnce = false;
    super.opened(stream);
  }

  override onData(chunk: Buffer): void {
    this.#unconsumed += chunk.length;
    super.onData(chunk);
    this.#tell();
    this.#consume();
  }

  protected override received(chunk: Buffer, reader: MessageFrameReader): void {
    reader.add(Buffer.from(chunk));
    for (let message = reader.next(); message !== undefined; message = reader.next())
      this.#messages.push(inOwnMemory(message.bytes));
    const error = this.failure;
    if (error !== undefined) this.failed(error);
  }

  protected override failed(error: TritonError): void {
    this.#leave({ error });
  }

  protected override ended(error: Http2Error | undefined): void {
    if (this.#outcome !== undefined) return;
    try {
      this.#finish({ step: this.outcome(error) ?? { kind: 'end' } });
    } catch (failure) {
      this.#finish({ error: TritonError.from(failure) });
    }
  }

  /** What has come is consumed unless a whole message waits for its reader. */
  #consume(): void {
    if (this.#messages.length > 0 || this.#unconsumed === 0) return;
    this.stream?.consume(this.#unconsumed);
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

  /** Ends it from our side. */
  #leave(outcome: Outcome): void {
    if (this.#outcome !== undefined) return;
    this.leave();
    this.#finish(outcome);
  }

  #finish(outcome: Outcome): void {
    this.#outcome = outcome;
    // Not yet set when the call had been aborted before it began.
    this.#forget?.();
    this.connection.release();
    this.#tell();
  }
}
