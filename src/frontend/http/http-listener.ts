// A listening HTTP/1.1 server on node:http: the port, its connections, and how both end. What requests mean is the
// business of those that extend it.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { TritonError } from '../../errors.js';
import type { Logger } from '../../model/logger.js';
import type { Frontend } from '../frontend.js';
import { listenFailure } from '../listen-failure.js';
import { framingFault } from './framing-fault.js';
import { HttpConnection } from './http-connection.js';
import { HttpExchange } from './http-exchange.js';
import { declaredLength } from './receive-body.js';

export interface HttpListenerOptions {
  /** As the log names it. */
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly logger: Logger;
}

// Clients pool connections and load balancers keep them for up to ten minutes: whoever closes first without the other
// knowing loses a request, so the server waits longer.
const KEEP_ALIVE_MILLISECONDS = 620_000;
const HEADERS_MILLISECONDS = 60_000;
/** For a whole request; large uploads over slow links take their time. */
const REQUEST_MILLISECONDS = 300_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Of bodies that are read and of answers that wait for a slow reader, before the other side has to wait. */
const BUFFERED_BYTES = 256 * 1024;

export abstract class HttpListener implements Frontend {
  readonly #options: HttpListenerOptions;
  readonly #server: Server;
  readonly #connections = new Map<Socket, HttpConnection>();
  #closed: Promise<void> | undefined;
  #draining = false;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        keepAlive: true,
        noDelay: true,
        keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
        headersTimeout: HEADERS_MILLISECONDS,
        requestTimeout: REQUEST_MILLISECONDS,
        maxHeaderSize: MAX_HEADER_BYTES,
        // See framing-fault.ts, which tells what is wrong.
        requireHostHeader: false,
        highWaterMark: BUFFERED_BYTES,
      },
      (request, response) => this.#receive(request, response),
    );
    this.#server.on('connection', (socket) => this.#accept(socket));
    this.#server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
      this.#receive(request, response, { expectsContinue: true }),
    );
    this.#server.on('connect', (_request, socket) => refuseTunnel(socket as Socket));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#refuse(error, socket as Socket));
  }

  start(): Promise<number> {
    const { name, address, port, logger } = this.#options;
    return new Promise((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException) => {
        reject(listenFailure(error, address, port));
      };
      this.#server.once('error', fail);
      this.#server.listen({ host: address, port }, () => {
        this.#server.off('error', fail);
        this.#server.on('error', (error) => logger.error(`${name}: ${error.message}`));
        this.#closed = new Promise((closed) => this.#server.once('close', closed));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    // Also closes the connections that wait between two requests.
    this.#server.close();
    for (const connection of this.#connections.values()) connection.closeWhenAnswered();
  }

  get connections(): number {
    return this.#connections.size;
  }

  close(): Promise<void> {
    this.drain();
    for (const socket of this.#connections.keys()) socket.destroy();
    return this.#closed ?? Promise.resolve();
  }

  /** Answers the request, at once or later; what this throws becomes the answer. */
  protected abstract answer(exchange: HttpExchange): void;

  #accept(socket: Socket): void {
    const connection = new HttpConnection(socket);
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#connections.delete(socket));
    if (this.#draining) connection.closeWhenAnswered();
  }

  #receive(request: IncomingMessage, response: ServerResponse, { expectsContinue = false } = {}): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) return;
    const exchange = new HttpExchange(request, response, connection);
    if (expectsContinue && declaredLength(exchange) === 0) response.writeContinue();
    else exchange.expectsContinue = expectsContinue;
    connection.opened(exchange);
    const fault = framingFault(request);
    if (fault !== undefined) {
      connection.closeWhenAnswered();
      exchange.answerJson(fault.status, { error: fault.message });
      return;
    }
    try {
      this.answer(exchange);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #fail(exchange: HttpExchange, thrown: unknown): void {
    const error = TritonError.from(thrown);
    if (!TritonError.is(thrown)) {
      this.#options.logger.error(
        `${this.#options.name}: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : error.message}`,
      );
    }
    if (!exchange.answered) exchange.answerError(error);
  }

  /** What came is no HTTP, came too slowly, or the connection broke. */
  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    if (error.code === 'HPE_CLOSED_CONNECTION' || connection.lastAnswered) {
      // More came after a request that was the last: not even an answer to it.
      connection.closeWhenAnswered();
      return;
    }
    const { newest } = connection;
    const [status, reason] = REFUSALS[error.code ?? ''] ?? REFUSALS.malformed!;
    const body = JSON.stringify({
      error:
        reason === 'Bad Request' ? `malformed HTTP request: ${error.message.replace('Parse Error: ', '')}` : reason,
    });
    if (newest === undefined || (newest.answered && newest.request.complete)) {
      connection.endWith(lastAnswer(status, reason, body));
      return;
    }
    connection.closeWhenAnswered();
    if (!newest.answered && !newest.request.complete) newest.answerBody(status, 'application/json', Buffer.from(body));
  }
}

/** CONNECT asks for a connection to elsewhere; node:http has given up the socket. */
function refuseTunnel(socket: Socket): void {
  socket.on('error', () => undefined);
  socket.end(lastAnswer(405, 'Method Not Allowed', '{"error":"Method Not Allowed"}'), () => socket.destroy());
}

function lastAnswer(status: number, reason: string, body: string): string {
  return `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}

const REFUSALS: Readonly<Record<string, readonly [number, string]>> = {
  malformed: [400, 'Bad Request'],
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Payload Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};
