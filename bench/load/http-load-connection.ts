// One keep-alive HTTP/1.1 connection in a closed loop: it sends prebuilt requests in turns, each when the whole answer to the
// one before has come. Built on node:net with one read buffer reused for the connection's life.

import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { isSampled, turnsOf } from './exchange-turns.js';
import { HttpResponseParser } from './http-response-parser.js';
import type { LoadConnection, LoadWindow } from './load-window.js';

export interface HttpTarget {
  readonly protocol: 'http';
  readonly port: number;
  readonly connections: number;
  /** What each connection sends in turns. */
  readonly exchanges: readonly HttpLoadExchange[];
  /** Each connection has so many of the exchanges for itself, in order. Absent: all have all of them. */
  readonly ownExchanges?: number;
}

export interface HttpLoadExchange {
  /** A whole request, head and body. */
  readonly request: Uint8Array;
  /** The answer's body: every answer must have its length, and some its bytes (see `isSampled`). */
  readonly expected: Uint8Array;
}

export class HttpLoadConnection implements LoadConnection {
  readonly #window: LoadWindow;
  readonly #parser = new HttpResponseParser();
  readonly #socket: Socket;
  #sentAt = 0;
  #waiting = false;
  #open = true;
  #sent = 0;
  readonly #exchanges: readonly HttpLoadExchange[];
  readonly #firstTurn: number;
  #exchange: HttpLoadExchange;

  private constructor(target: HttpTarget, window: LoadWindow, whenOpen: (error?: Error) => void) {
    this.#window = window;
    const { exchanges, first } = turnsOf(target.exchanges, target.ownExchanges);
    this.#exchanges = exchanges;
    this.#exchange = exchanges[0]!;
    this.#firstTurn = first;
    const buffer = Buffer.allocUnsafeSlow(1 << 16);
    const callback = (length: number): boolean => {
      this.#read(buffer, length);
      return true;
    };
    this.#socket = connect({ host: '127.0.0.1', port: target.port, noDelay: true, onread: { buffer, callback } });
    this.#socket.once('connect', () => whenOpen());
    this.#socket.on('error', (error) => {
      whenOpen(error);
      this.#fail(error.message);
    });
    this.#socket.on('close', () => this.#fail('the server closed the connection'));
  }

  static open(target: HttpTarget, window: LoadWindow): Promise<HttpLoadConnection> {
    return new Promise((resolve, reject) => {
      const connection = new HttpLoadConnection(target, window, (error) => {
        if (error) reject(error);
        else resolve(connection);
      });
    });
  }

  get unanswered(): number {
    return this.#waiting ? 1 : 0;
  }

  start(): void {
    this.#send();
  }

  close(): void {
    this.#open = false;
    this.#socket.destroy();
  }

  #send(): void {
    const exchanges = this.#exchanges;
    this.#exchange = exchanges[(this.#firstTurn + this.#sent) % exchanges.length]!;
    this.#parser.keepBody = isSampled(this.#sent++, exchanges);
    this.#waiting = true;
    this.#sentAt = performance.now();
    this.#socket.write(this.#exchange.request);
  }

  #read(buffer: Buffer, length: number): void {
    if (!this.#open) return;
    let end: number;
    try {
      end = this.#parser.read(buffer, 0, length);
    } catch (error) {
      this.#fail((error as Error).message);
      return;
    }
    if (end === -1) return;
    const complaint = this.#complaint(end, length);
    if (complaint !== undefined) {
      this.#fail(complaint);
      return;
    }
    this.#waiting = false;
    this.#window.answered(this.#sentAt, performance.now());
    if (this.#window.issuing) this.#send();
  }

  #complaint(end: number, length: number): string | undefined {
    const parser = this.#parser;
    if (!this.#waiting) return 'an answer that nothing had asked for';
    if (end !== length) return `${length - end} bytes after the answer`;
    if (parser.status !== 200) return `status ${parser.status}`;
    const { expected } = this.#exchange;
    if (parser.bodyLength !== expected.length) return `a body of ${parser.bodyLength} bytes, not ${expected.length}`;
    if (parser.keepBody && !parser.body.equals(expected)) return 'a body other than the one expected';
    return undefined;
  }

  #fail(reason: string): void {
    if (!this.#open) return;
    this.#window.failed(reason);
    this.#waiting = false;
    this.close();
  }
}
