// What a frontend knows of one client connection: its requests under way, so that they are cancelled when the client
// hangs up, and so that a connection that shall close does so after the last of its answers. Answers leave in the
// order of their requests, whatever the order in which they are ready.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A request and its answer, as far as a connection cares. */
export interface Answered {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly answered: boolean;
  answerBody(status: number, contentType: string, body: Buffer): void;
}

/** What is cancelled when the client hangs up. */
export interface Cancellable {
  cancel(): void;
}

export class HttpConnection {
  readonly socket: Socket;
  /** The request that came last; its answer is the last on the wire. */
  newest: Answered | undefined;
  /** An answer has said that none comes after it. */
  lastAnswered = false;
  readonly #inflight = new Set<Cancellable>();
  #unanswered = 0;
  #closing = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.once('close', () => {
      for (const request of this.#inflight) request.cancel();
      this.#inflight.clear();
    });
  }

  opened(exchange: Answered): void {
    this.newest = exchange;
    this.#unanswered++;
  }

  /** `request` is cancelled if the client hangs up before {@link done}. */
  started(request: Cancellable): void {
    if (this.socket.destroyed) request.cancel();
    else this.#inflight.add(request);
  }

  done(request: Cancellable): void {
    this.#inflight.delete(request);
  }

  /** No answer after those to the requests that have come by now. */
  closeWhenAnswered(): void {
    this.#closing = true;
    const { newest } = this;
    if (newest === undefined) {
      // Nothing has come, or only the beginning of a request, which will be answered.
      if (this.socket.bytesRead === 0) this.socket.destroy();
    } else if (this.#unanswered === 0 && !newest.response.writableFinished) {
      this.#endAfter(newest);
    }
  }

  /** Sends `text` after the answers to the requests that have come, as the last of this connection. */
  endWith(text: string): void {
    if (this.#closing) return;
    this.#closing = true;
    const end = () => void this.socket.end(text, () => this.socket.destroy());
    const { newest } = this;
    if (newest === undefined || newest.response.writableFinished) end();
    else newest.response.once('close', end);
  }

  /** Called with the headers of an answer before they are written. */
  beforeAnswer(exchange: Answered, headers: string[]): void {
    this.#unanswered--;
    if (!this.#closing) return;
    if (exchange === this.newest) {
      headers.push('Connection', 'close');
      this.lastAnswered = true;
    } else if (this.#unanswered === 0) {
      this.#endAfter(exchange);
    }
  }

  #endAfter(exchange: Answered): void {
    // By the time a response is closed, those queued behind it are on the socket.
    exchange.response.once('close', () => this.socket.end());
  }
}
