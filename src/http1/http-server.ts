// A listening HTTP/1.1 server, with TLS or without.

import type { TlsOptions } from 'node:tls';

import type { ByteBudget } from '../sockets/byte-budget.js';
import type { ConnectionLimit } from '../sockets/connection-limit.js';
import { Listener } from '../sockets/listener.js';
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
  /** Answers requests on connections beyond the limit. Default: there are none. */
  readonly serveSpare?: ServeRequest | undefined;
}

/** From a connection's beginning. */
const HANDSHAKE_MILLISECONDS = 60_000;

export class HttpServer {
  readonly #listener: Listener;

  constructor({ serve, tls, onError, onHandshakeError, budget, limit, serveSpare }: HttpServerOptions) {
    const clock: Clock = { now: performance.now() };
    this.#listener = new Listener({
      tls: tls && { handshakeTimeout: HANDSHAKE_MILLISECONDS, ...tls, ALPNProtocols: ['http/1.1'] },
      // The last answers still go to a client that has closed its sending half.
      allowHalfOpen: true,
      connect(read, surroundings) {
        const own = surroundings.isSpare ? (serveSpare ?? serve) : serve;
        return new SocketConnection(read, { serve: own, clock, ...surroundings });
      },
      onTick: (now) => (clock.now = now),
      onError,
      onHandshakeError,
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

  /** Closes whatever is left; resolves when no socket is open. Idempotent. */
  close(): Promise<void> {
    return this.#listener.close(0);
  }
}
