// A listening HTTP/1.1 server, with TLS or without.

import type { TlsOptions } from 'node:tls';

import type { ByteBudget } from '../sockets/byte-budget.js';
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
}

export class HttpServer {
  readonly #listener: Listener;

  constructor({ serve, tls, onError, onHandshakeError, budget }: HttpServerOptions) {
    const clock: Clock = { now: performance.now() };
    this.#listener = new Listener({
      tls: tls && { ...tls, ALPNProtocols: ['http/1.1'] },
      // The last answers still go to a client that has closed its sending half.
      allowHalfOpen: true,
      connect: (read, shared) => new SocketConnection(read, { serve, clock, ...shared }),
      onTick: (now) => (clock.now = now),
      onError,
      onHandshakeError,
      budget,
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
