// A listening HTTP/1.1 server, with TLS or without.

import type { TlsOptions } from 'node:tls';

import type { ByteBudget } from '../sockets/byte-budget.js';
import type { ConnectionLimit } from '../sockets/connection-limit.js';
import { Listener, type ListenerOptions } from '../sockets/listener.js';
import type { Clock } from './http-connection.js';
import type { ServeRequest } from './http-exchange.js';
import { SocketConnection } from './socket-connection.js';

export interface HttpServerOptions {
  readonly serve: ServeRequest;
  /** Told when the port fails after it was opened. */
  readonly onError: (error: Error) => void;
  /** Default: no TLS. */
  readonly tls?: TlsOptions | undefined;
  /** Told why a TLS handshake came to nothing. */
  readonly onHandshakeError?: ((error: Error) => void) | undefined;
  /** What clients may have the server hold. Default: anything. */
  readonly budget?: ByteBudget | undefined;
  /** Shared with other ports. Default: any number of connections. */
  readonly limit?: ConnectionLimit | undefined;
  /** Told once whom {@link HttpServer.close} cut off, if anybody. */
  readonly onCutOff?: ListenerOptions['onCutOff'];
  /** Answers requests on connections beyond the limit. Default: there are none. */
  readonly serveSpare?: ServeRequest | undefined;
}

/** From a connection's beginning. */
const HANDSHAKE_MILLISECONDS = 60_000;
/** How long the last answers may take to reach their clients when everything closes. */
const FLUSH_MILLISECONDS = 1000;

export class HttpServer {
  readonly #listener: Listener;

  constructor({ serve, tls, onError, onHandshakeError, onCutOff, budget, limit, serveSpare }: HttpServerOptions) {
    const clock: Clock = { now: performance.now() };
    this.#listener = new Listener({
      tls: tls && { ...tls, ALPNProtocols: ['http/1.1'] },
      handshakeTimeout: HANDSHAKE_MILLISECONDS,
      // The last answers still go to a client that has closed its sending half.
      allowHalfOpen: true,
      connect(read, surroundings) {
        const own = surroundings.isSpare ? (serveSpare ?? serve) : serve;
        return new SocketConnection(read, { serve: own, clock, ...surroundings });
      },
      onTick: (now) => (clock.now = now),
      onError,
      onHandshakeError,
      onCutOff,
      budget,
      limit,
      takesSpare: serveSpare !== undefined,
    });
  }

  /** Resolves with the real port. Rejects with what Node says when the address cannot be used. */
  listen(address: string, port: number): Promise<number> {
    return this.#listener.listen(address, port);
  }

  /** Each connection, new ones too, closes after the next answer; a request on any of them is answered. */
  retire(): void {
    this.#listener.retire();
  }

  /** No new connections; existing ones close as soon as they have no request under way. */
  drain(): void {
    this.#listener.drain();
  }

  /** Open now. */
  get connections(): number {
    return this.#listener.connections;
  }

  /** Connections with a request or an answer under way. */
  get underWay(): number {
    return this.#listener.underWay;
  }

  /** Connections with nothing under way whose clients may still send a request. */
  get awaited(): number {
    return this.#listener.awaited;
  }

  /** Resolves when all requests are answered and all answers are written. To be called after {@link drain}. */
  settled(): Promise<void> {
    return this.#listener.settled();
  }

  /** Drains, closes the remaining connections after a while, and resolves when no socket is open. Idempotent. */
  close(): Promise<void> {
    return this.#listener.close(FLUSH_MILLISECONDS);
  }
}
