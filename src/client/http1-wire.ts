// HTTP/1.1 requests and their answers over connections of ours to one server. Bodies are whole: sent with their Content-Length,
// received into memory of their own.

import { setImmediate as turnOfTheLoop } from 'node:timers/promises';

import type { TritonError } from '../errors.js';
import type { Requester } from '../http1/client-connection.js';
import { ClientConnections } from '../http1/client-connections.js';
import type { Call } from './call.js';
import type { TransportOptions } from './client-options.js';
import { connectionError } from './connection-error.js';
import { PartedExchange, StaleConnection, WholeExchange, type Outcome, type Sent } from './http1-exchange.js';
import type { HttpRequest, HttpResponse, HttpWire, PartedResponse } from './http-wire.js';
import type { ServerUrl } from './parse-url.js';

/** Idle connections are closed after this time, or earlier when the server announces that it closes them itself. */
const IDLE_MILLISECONDS = 60_000;
const MAX_IDLE_CONNECTIONS = 256;
/** Servers close connections that were idle for long; of one that was used just now nothing can have come. */
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
    // As browsers have it.
    this.#pathPrefix = pathPrefix.replaceAll(NOT_IN_PATHS, encodeURIComponent);
    this.#connections = new ClientConnections({
      host,
      port,
      tls: server.tls ? { ...tls } : undefined,
      maxIdle: Math.min(maxConcurrency, MAX_IDLE_CONNECTIONS),
      idleMilliseconds: IDLE_MILLISECONDS,
    });
  }

  /**
   * Rejects with UNAVAILABLE when there is no whole answer, and with the call's error when it is aborted: the
   * connection is closed then, which cancels the request at the server.
   *
   * A kept connection may be closed by the server at the very moment it is used again. What may be executed twice is then sent once
   * more, over a new connection, if not a single byte came back.
   */
  exchange(request: HttpRequest, call: Call): Promise<HttpResponse> {
    return this.#overLiveConnection(request, call, WholeExchange);
  }

  /**
   * The same for an answer that comes in parts: settles with its head. Whoever takes the parts cancels the answer when the call is
   * aborted.
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
      // That the server has closed a connection may have come already: it is read when the event loop polls, which is between two
      // of its turns.
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
      // The other kept connections may be as dead as this one was.
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
      const sent = { connection, call, address, maxResponseBytes };
      const exchange = new Exchange(sent, { resolve, reject });
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

/** The port only where it is not the scheme's own, as browsers have it. */
export function hostHeader({ host, port, tls }: Pick<ServerUrl, 'host' | 'port' | 'tls'>): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === (tls ? 443 : 80) ? name : `${name}:${port}`;
}
