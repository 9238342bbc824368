// One client connection: its exchanges under way, which learn that the client has hung up; and its end, which comes after
// the last of its answers. Answers leave in the order of their requests, whatever the order in which they are ready.

import type { Socket } from 'node:net';

import type { HttpAnswer } from './http-exchange.js';

/** A request and its answer, as far as a connection cares. */
export interface ConnectedExchange extends HttpAnswer {
  /** Whether the whole request has come. */
  readonly isComplete: boolean;
  /** Whether the whole answer has left. */
  readonly isSent: boolean;
  /** Calls back when the answer and those queued behind it are on the socket. */
  onSent(listener: () => void): void;
  /** The client hung up. */
  abort(): void;
  /** Its neighbours among those that are open. */
  before: ConnectedExchange | undefined;
  after: ConnectedExchange | undefined;
}

export class HttpConnection {
  readonly socket: Socket;
  /** The request that came last; its answer is the last on the wire. */
  newest: ConnectedExchange | undefined;
  /** An answer has said that none comes after it. */
  lastAnswered = false;
  // A list, because tables that a Set has outgrown keep alive what was in it until the next full collection.
  #first: ConnectedExchange | undefined;
  #last: ConnectedExchange | undefined;
  #unanswered = 0;
  #closing = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.once('close', () => {
      for (let exchange = this.#first; exchange !== undefined; exchange = this.#first) {
        this.ended(exchange);
        exchange.abort();
      }
    });
  }

  opened(exchange: ConnectedExchange): void {
    this.newest = exchange;
    exchange.before = this.#last;
    if (this.#last === undefined) this.#first = exchange;
    else this.#last.after = exchange;
    this.#last = exchange;
    this.#unanswered++;
  }

  /** The answer of an exchange has ended. */
  ended(exchange: ConnectedExchange): void {
    const { before, after } = exchange;
    if (before !== undefined) before.after = after;
    else if (this.#first === exchange) this.#first = after;
    else return;
    if (after === undefined) this.#last = before;
    else after.before = before;
    exchange.before = exchange.after = undefined;
  }

  /** No answer after those to the requests that have come by now. */
  closeWhenAnswered(): void {
    this.#closing = true;
    const { newest } = this;
    if (newest === undefined) {
      // Nothing has come, or only the beginning of a request, which will be answered.
      if (this.socket.bytesRead === 0) this.socket.destroy();
    } else if (this.#unanswered === 0 && !newest.isSent) {
      this.#endAfter(newest);
    }
  }

  /** Sends `text` after the answers to the requests that have come, as the last of this connection. */
  endWith(text: string): void {
    if (this.#closing) return;
    this.#closing = true;
    const end = () => void this.socket.end(text, () => this.socket.destroy());
    const { newest } = this;
    if (newest === undefined || newest.isSent) end();
    else newest.onSent(end);
  }

  /** Called before the head of an answer is written. True: it is to say that the connection closes. */
  beforeAnswer(exchange: ConnectedExchange): boolean {
    this.#unanswered--;
    if (!this.#closing) return false;
    if (exchange === this.newest) this.lastAnswered = true;
    else if (this.#unanswered === 0) this.#endAfter(exchange);
    return exchange === this.newest;
  }

  #endAfter(exchange: ConnectedExchange): void {
    exchange.onSent(() => this.socket.end());
  }
}
