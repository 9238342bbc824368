// A listening HTTP/1.1 server on node:http: the port, its connections, and how both end. What is no HTTP is answered here, as
// JSON that says why.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { framingFault } from './framing-fault.js';
import { HttpConnection } from './http-connection.js';
import type { HttpAnswer, ServeRequest } from './http-exchange.js';
import { NodeExchange } from './node-exchange.js';

export interface HttpServerOptions {
  readonly serve: ServeRequest;
  /** Told when the port fails after it was opened. */
  readonly onError: (error: Error) => void;
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

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  readonly #connections = new Map<Socket, HttpConnection>();
  #closed: Promise<void> | undefined;
  #retiring = false;
  #draining = false;

  constructor(options: HttpServerOptions) {
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

  /** Resolves with the real port. Rejects with what Node says when the address cannot be used. */
  listen(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host: address, port }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', this.#options.onError);
        this.#closed = new Promise((closed) => this.#server.once('close', closed));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Each connection, new ones too, closes after the next answer; a request on any of them is answered. */
  retire(): void {
    this.#retiring = true;
  }

  /** No new connections; existing ones close as soon as they have no request under way. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    // Also closes the connections that wait between two requests.
    this.#server.close();
    for (const connection of this.#connections.values()) connection.closeWhenAnswered();
  }

  /** Open now. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Closes whatever is left; resolves when no socket is open. Idempotent. */
  close(): Promise<void> {
    this.drain();
    for (const socket of this.#connections.keys()) socket.destroy();
    return this.#closed ?? Promise.resolve();
  }

  #accept(socket: Socket): void {
    const connection = new HttpConnection(socket);
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#connections.delete(socket));
    if (this.#draining) connection.closeWhenAnswered();
  }

  #receive(request: IncomingMessage, response: ServerResponse, { expectsContinue = false } = {}): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) return;
    const exchange = new NodeExchange(request, response, { connection, expectsContinue });
    connection.opened(exchange);
    if (this.#retiring) connection.closeWhenAnswered();
    const fault = framingFault(request);
    if (fault === undefined) {
      this.#options.serve(exchange, exchange);
      return;
    }
    connection.closeWhenAnswered();
    refuse(exchange, fault.status, errorText(fault.message));
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
    const body = errorText(
      reason === 'Bad Request' ? `malformed HTTP request: ${error.message.replace('Parse Error: ', '')}` : reason,
    );
    if (newest === undefined || (newest.begun && newest.isComplete)) {
      connection.endWith(lastAnswer(status, reason, body));
      return;
    }
    connection.closeWhenAnswered();
    if (!newest.begun && !newest.isComplete) refuse(newest, status, body);
  }
}

function errorText(message: string): string {
  return JSON.stringify({ error: message });
}

function refuse(answer: HttpAnswer, status: number, text: string): void {
  const body = Buffer.from(text);
  answer.respond(status, ['Content-Type', 'application/json', 'Content-Length', String(body.length)], [body]);
}

/** CONNECT asks for a connection to elsewhere; node:http has given up the socket. */
function refuseTunnel(socket: Socket): void {
  socket.on('error', () => undefined);
  socket.end(lastAnswer(405, 'Method Not Allowed', errorText('Method Not Allowed')), () => socket.destroy());
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
