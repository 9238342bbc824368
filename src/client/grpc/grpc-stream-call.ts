// One gRPC call with any number of response messages, which the reader takes one by one. The server may be ahead of the reader by
// no more than the stream's window.

import { TritonError } from '../../errors.js';
import type { Http2Error } from '../../http2/http2-error.js';
import type { Http2Stream } from '../../http2/http2-stream.js';
import type { MessageFrameReader } from '../../protocol/grpc/message-frame.js';
import { Ring } from '../../ring.js';
import type { Call } from '../call.js';
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
  readonly #messages = new Ring<Buffer>();
  #forget: (() => void) | undefined;
  /** Received bytes that we have not yet reported to the server as consumed. */
  #unconsumed = 0;
  #waiter: Waiter | undefined;
  /** How the call ended. The reader learns it after the messages. */
  #outcome: Outcome | undefined;

  constructor(connection: Http2Connection, request: GrpcRequest, call: Call) {
    super(connection, request, call, undefined);
  }

  /** Sends the request. Call it once. */
  start(): this {
    const { connection, call } = this;
    const receivedBefore = connection.receivedBytes;
    connection.acquire();
    this.#forget = call.onAbort((error) => {
      this.#messages.clear();
      this.#leave({ error });
      // The server was silent all the time: the connection may be dead without our knowing.
      if (call.expired && connection.receivedBytes === receivedBefore) connection.retire();
    });
    if (this.#outcome === undefined) connection.open(this);
    return this;
  }

  /** Call it again only when the promise has settled. */
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

  /** Drops the rest of the answer, and tells the server to stop. */
  cancel(): void {
    this.#messages.clear();
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

  protected override read(reader: MessageFrameReader): void {
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

  /** Reports the received bytes to the server as consumed, unless a whole message waits for its reader. */
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

  /** Ends the call from our side. */
  #leave(outcome: Outcome): void {
    if (this.#outcome !== undefined) return;
    this.leave();
    this.#finish(outcome);
  }

  /** Whether no request goes to the server any more. The reader may still have messages to take. */
  get isOver(): boolean {
    return this.#outcome !== undefined;
  }

  /** Called when the call has its outcome. */
  protected finished(): void {}

  #finish(outcome: Outcome): void {
    this.#outcome = outcome;
    this.finished();
    // Undefined if the call was aborted before it began.
    this.#forget?.();
    this.connection.release();
    this.#tell();
  }
}
