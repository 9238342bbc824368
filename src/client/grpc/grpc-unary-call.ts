// One unary gRPC call: a request message out, a response message and the status back.

import { TritonError } from '../../errors.js';
import type { Http2Error } from '../../http2/http2-error.js';
import type { MessageFrameReader } from '../../protocol/grpc/message-frame.js';
import type { Call } from '../call.js';
import { GrpcExchange, inOwnMemory, malformed, type GrpcRequest, type Unprocessed } from './grpc-exchange.js';
import type { Http2Connection } from './http2-connection.js';

export type UnaryResult = { readonly kind: 'message'; readonly message: Buffer } | Unprocessed;

/** Rejects with the error that the status stands for, UNAVAILABLE without an answer, or the call's own error when aborted. */
export function unaryCall(connection: Http2Connection, request: GrpcRequest, call: Call): Promise<UnaryResult> {
  return new Promise((resolve, reject) => {
    const exchange = new UnaryCall(connection, request, call, call.remainingMs);
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

class UnaryCall extends GrpcExchange {
  readonly #messages: Buffer[] = [];
  /** Takes the outcome; undefined when nobody waits for it any more. */
  #settle: ((result: () => UnaryResult) => void) | undefined;

  /** `settle` is called once, unless the call is cancelled before. */
  start(settle: (result: () => UnaryResult) => void): void {
    this.#settle = settle;
    this.connection.open(this);
  }

  cancel(): void {
    this.#settle = undefined;
    this.leave();
  }

  protected override read(reader: MessageFrameReader): void {
    if (this.#settle === undefined) return;
    for (let message = reader.next(); message !== undefined; message = reader.next())
      this.#messages.push(message.bytes);
    const target = reader.target();
    if (target !== undefined) this.stream!.receiveInto(target);
    const error = this.failure ?? (this.#messages.length > 1 ? malformed('it has more than one message') : undefined);
    if (error !== undefined) this.failed(error);
  }

  protected override failed(error: TritonError): void {
    const settle = this.#settle;
    this.cancel();
    settle?.(() => {
      throw error;
    });
  }

  protected override ended(error: Http2Error | undefined): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(() => this.outcome(error) ?? { kind: 'message', message: this.#onlyMessage() });
  }

  #onlyMessage(): Buffer {
    if (this.#messages.length !== 1) throw malformed(`expected one message, got ${this.#messages.length}`);
    return inOwnMemory(this.#messages[0]!);
  }
}
