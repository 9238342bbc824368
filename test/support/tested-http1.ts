// A connection of HTTP/1.1 without a socket: tests give it bytes, read what it sends, and are its clock and its socket.
import { HttpConnection, type ConnectionOwner } from '../../src/http1/http-connection.js';
import type { HttpExchange, HttpRequest } from '../../src/http1/http-exchange.js';
import type { ByteShare } from '../../src/sockets/byte-budget.js';
import { BlockPool, Output } from '../../src/sockets/output.js';
import { writtenBy } from './written-by.js';

/** A request with what has come of its body. */
export class TestedRequest {
  readonly request: HttpRequest;
  readonly answer: HttpExchange;
  readonly pieces: Buffer[] = [];
  isWhole = false;
  aborts = 0;

  constructor(exchange: HttpExchange) {
    this.request = exchange.request;
    this.answer = exchange;
  }

  get body(): string {
    return Buffer.concat(this.pieces).toString('latin1');
  }

  respond(body = '', status = 200): void {
    this.answer.respond(status, ['Content-Length', String(body.length)], [Buffer.from(body, 'latin1')]);
  }
}

export interface TestedOptions {
  /** Called for each request, after its body began to be read. */
  readonly onRequest?: (tested: TestedRequest) => void;
  /** Whether bodies are read at all. Default: they are. */
  readonly readsBodies?: boolean;
  /** Default: it may hold anything. */
  readonly share?: ByteShare;
  /** Larger bodies are refused. Default: none are. */
  readonly limit?: number;
}

export class TestedHttp1 implements ConnectionOwner {
  readonly connection: HttpConnection;
  readonly requests: TestedRequest[] = [];
  readonly clock = { now: 0 };
  /** What the socket has not passed on. */
  held = 0;
  #sent = '';
  readonly #output = new Output(new BlockPool());
  readonly #options: TestedOptions;

  constructor(options: TestedOptions = {}) {
    this.#options = options;
    this.connection = new HttpConnection({
      clock: this.clock,
      output: this.#output,
      owner: this,
      serve: (exchange) => this.#serve(exchange),
      share: options.share,
    });
  }

  /** For the connection. */
  get socket(): { readonly writableLength: number } {
    return { writableLength: this.held };
  }

  writeSoon(): void {}

  flush(): void {
    this.write();
  }

  /** Gives it bytes, each part in a read of its own, and writes what it has to say. */
  receive(...parts: readonly (string | Uint8Array)[]): this {
    for (const part of parts) {
      const bytes = typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part);
      const target = this.connection.directTarget();
      if (target !== undefined && target.length >= bytes.length) {
        bytes.copy(target);
        this.connection.receive(target, 0, bytes.length);
      } else {
        // In the middle of memory that others use too, and use again.
        const shared = Buffer.alloc(bytes.length + 20, 'x');
        bytes.copy(shared, 10);
        this.connection.receive(shared, 10, 10 + bytes.length);
        shared.fill('y');
      }
      this.write();
    }
    return this;
  }

  /** Writes to the socket, as long as that takes anything. */
  write(): void {
    if (this.connection.isCongested) return;
    this.#sent += Buffer.concat(writtenBy(this.#output)).toString('latin1');
  }

  /** The turn of the event loop is over. */
  turn(): this {
    this.connection.proceed();
    this.write();
    return this;
  }

  at(seconds: number): this {
    this.clock.now = seconds * 1000;
    this.connection.tick();
    return this.turn();
  }

  /** What it has sent since this was asked last, without dates. */
  get sent(): string {
    const sent = this.#sent.replace(/Date: [^\r]*\r\n/g, '');
    this.#sent = '';
    return sent;
  }

  /** The statuses of what it has sent since this was asked last. */
  get statuses(): number[] {
    return [...this.sent.matchAll(/HTTP\/1\.1 ([0-9]{3}) /g)].map(([, status]) => Number(status));
  }

  #serve(exchange: HttpExchange): void {
    const tested = new TestedRequest(exchange);
    this.requests.push(tested);
    exchange.onAbort(() => tested.aborts++);
    const { readsBodies = true, limit = Infinity, onRequest } = this.#options;
    if (readsBodies) {
      exchange.receiveBody({
        limit,
        alignedAt: 0,
        onBody: (body) => {
          tested.pieces.push(body);
          tested.isWhole = true;
        },
      });
    }
    onRequest?.(tested);
  }
}
