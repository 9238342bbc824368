// HTTP/1.1 requests to one server, and their answers, over our own connections. Bodies are whole: each is sent with its
// Content-Length, and received into memory of its own.

import { setImmediate as turnOfTheLoop } from 'node:timers/promises';

import type { TritonError } from '../../errors.js';
import type { Requester } from '../../http1/client-connection.js';
import { ClientConnections } from '../../http1/client-connections.js';
import type { Call } from '../call.js';
import type { TransportOptions } from '../client-options.js';
import { connectionError } from '../connection-error.js';
import { connectionTls } from '../connection-tls.js';
import { PartedExchange, StaleConnection, WholeExchange, type Outcome, type Sent } from './http1-exchange.js';
import type { HttpRequest, HttpResponse, HttpWire, PartedResponse } from './http-wire.js';
import type { ServerUrl } from '../parse-url.js';

/** An idle connection is closed after this time, or earlier if the server announces that it will close it. */
const IDLE_MILLISECONDS = 60_000;
const MAX_IDLE_CONNECTIONS = 256;
/** Servers close connections that were idle for long. No such close can have come on a connection that was used just now. */
const LONG_IDLE_MS = 100;

export class Http1Wire implements HttpWire {
  readonly address: string;
  readonly maxResponseBytes: number;
  readonly #connections: ClientConnections;
  readonly #pathPrefix: string;
  readonly #hostLine: string;
  #lastUse = 0;

  constructor(server: ServerUrl, { tls, maxResponseBytes, maxConcurrency }: TransportOptions) {
    const { host, port, address, pathPrefix } = server;
    this.address = address;
    this.maxResponseBytes = maxResponseBytes;
    this.#hostLine = `Host: ${hostHeader(server)}\r\n`;
    // The same as browsers do.
    this.#pathPrefix = pathPrefix.replaceAll(NOT_IN_PATHS, encodeURIComponent);
    this.#connections = new ClientConnections({
      host,
      port,
      tls: server.tls ? connectionTls(tls ?? {}, address) : undefined,
      maxIdle: Math.min(maxConcurrency, MAX_IDLE_CONNECTIONS),
      idleMilliseconds: IDLE_MILLISECONDS,
    });
  }

  /**
   * Rejects with UNAVAILABLE when the whole answer does not come, and with the call's error when the call is aborted. An abort
   * closes the connection, which cancels the request at the server.
   *
   * The server may close a kept connection at the very moment of its reuse. If not a single byte came back, a request that may be
   * executed twice is sent once more, over a new connection.
   */
  exchange(request: HttpRequest, call: Call): Promise<HttpResponse> {
    return this.#overLiveConnection(request, call, WholeExchange);
  }

  /**
   * The same for an answer in parts: settles with its head. When the call is aborted, the reader of the parts must cancel the answer.
   */
  open(request: HttpRequest, call: Call): Promise<PartedResponse> {
    return this.#overLiveConnection(request, call, PartedExchange);
  }

  failure(error: unknown): TritonError {
    return connectionError(error, this.address);
  }

  /** Closes all connections; settles when they are closed. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  async #overLiveConnection<T>(request: HttpRequest, call: Call, exchange: ExchangeOf<T>): Promise<T> {
    call.throwIfAborted();
    const now = performance.now();
    if (now - this.#lastUse > LONG_IDLE_MS && this.#connections.hasIdle) {
      // The server's close of a connection may have arrived unread. The event loop reads it when it polls, between two of its turns.
      await turnOfTheLoop();
      await turnOfTheLoop();
      call.throwIfAborted();
    }
    this.#lastUse = now;
    try {
      return await this.#attempt(request, call, exchange);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      call.throwIfAborted();
      // The other kept connections may be dead too.
      this.#connections.closeIdle();
      if (!call.idempotent && request.method !== 'GET') throw error.error;
      try {
        return await this.#attempt(request, call, exchange);
      } catch (again) {
        throw again instanceof StaleConnection ? again.error : again;
      }
    } finally {
      this.#lastUse = performance.now();
    }
  }

  #attempt<T>(request: HttpRequest, call: Call, Exchange: ExchangeOf<T>): Promise<T> {
    const { address, maxResponseBytes } = this;
    return new Promise((resolve, reject) => {
      const connection = this.#connections.take();
      const { givesCertificate } = this.#connections;
      const sent = { connection, call, address, maxResponseBytes, givesCertificate };
      const fail = (error: unknown) => {
        // A kept connection may be dead without our knowing, and then so are the others.
        if (call.expired && connection.isUsed && !connection.hasBegun) this.#connections.closeIdle();
        reject(error);
      };
      const exchange = new Exchange(sent, { resolve, reject: fail });
      connection.send({ head: this.#headOf(request), body: request.chunks }, exchange);
    });
  }

  #headOf({ method, path, headers, chunks }: HttpRequest): string {
    let head = `${method} ${this.#pathPrefix}${path} HTTP/1.1\r\n${this.#hostLine}`;
    for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
    if (method === 'POST') {
      let length = 0;
      for (const { byteLength } of chunks) length += byteLength;
      head += `Content-Length: ${length}\r\n`;
    }
    return `${head}Connection: keep-alive\r\n\r\n`;
  }
}

type ExchangeOf<T> = new (sent: Sent, outcome: Outcome<T>) => Requester;

const NOT_IN_PATHS = /[^\x21-\x7e]+/g;

/** Names the port only if it is not the scheme's default, as browsers do. */
export function hostHeader({ host, port, tls }: Pick<ServerUrl, 'host' | 'port' | 'tls'>): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === (tls ? 443 : 80) ? name : `${name}:${port}`;
}
