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

export class HttpServer extends Listener {
  constructor({ serve, tls, serveSpare, ...told }: HttpServerOptions) {
    const clock: Clock = { now: performance.now() };
    super({
      ...told,
      tls: tls && { ...tls, ALPNProtocols: ['http/1.1'] },
      handshakeTimeout: HANDSHAKE_MILLISECONDS,
      // The last answers still go to a client that has closed its sending half.
      allowHalfOpen: true,
      connect(read, surroundings) {
        const own = surroundings.isSpare ? (serveSpare ?? serve) : serve;
        return new SocketConnection(read, { serve: own, clock, ...surroundings });
      },
      onTick: (now) => (clock.now = now),
      takesSpare: serveSpare !== undefined,
    });
  }

  override close(): Promise<void> {
    return super.close(FLUSH_MILLISECONDS);
  }
}
