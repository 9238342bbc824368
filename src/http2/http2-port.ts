// The contract of a listening port for HTTP/2 with its user, who is given one and need not know what it is made of.

import type { TlsOptions } from 'node:tls';

import type { ByteBudget } from '../sockets/byte-budget.js';
import type { ConnectionLimit } from '../sockets/connection-limit.js';
import type { CutOff } from '../sockets/listener.js';
import type { ConnectionControl, ConnectionListener } from './connection-listener.js';
import type { ConnectionOptions } from './connection-options.js';

export interface Http2PortOptions {
  /** A connection was made; who is returned is told its events. */
  readonly listen: (connection: ConnectionControl) => ConnectionListener;
  readonly connection?: ConnectionOptions;
  /** Default: no TLS. */
  readonly tls?: TlsOptions | undefined;
  /** What clients may have the server hold. Default: anything. */
  readonly budget?: ByteBudget | undefined;
  /** Shared with other ports. Default: any number of connections. */
  readonly limit?: ConnectionLimit | undefined;
  /** A connection could not be made: its handshake of TLS has failed. */
  readonly onHandshakeError?: (error: Error) => void;
  /** The port could not take a connection: there was no room for one more socket. */
  readonly onError?: (error: Error) => void;
  /** Told once whom {@link Http2Port.close} cut off, if anybody. */
  readonly onCutOff?: (connections: readonly CutOff[]) => void;
}

export interface Http2Port {
  /** Resolves with the real port; rejects when the address cannot be used. */
  listen(address: string, port: number): Promise<number>;
  /** Open now, without those that are in the handshake of TLS. */
  readonly connections: number;
  /** Clients are told to open their next streams on other connections. Those that they open here, and new connections, are served. */
  retire(): void;
  /** No new connections; existing ones are told to open no more streams, and end after their last. */
  drain(): void;
  /** Connections with a call or an answer under way. */
  readonly underWay: number;
  /** Resolves when all calls are answered and all answers are written. To be called after {@link drain}. */
  settled(): Promise<void>;
  /** Drains, and resolves when no socket is open; after `graceMilliseconds` those that are left are closed. Idempotent. */
  close(graceMilliseconds: number): Promise<void>;
}

/** Makes a port that does not listen yet. */
export type OpenHttp2Port = (options: Http2PortOptions) => Http2Port;
