// The contract of a listening port for HTTP/2 with its user. The user is given a port, and need not know its parts.

import type { TlsOptions } from 'node:tls';

import type { ByteBudget } from '../sockets/byte-budget.js';
import type { ConnectionLimit } from '../sockets/connection-limit.js';
import type { CutOff } from '../sockets/listener.js';
import type { ConnectionControl, ConnectionListener } from './connection-listener.js';
import type { ConnectionOptions } from './connection-options.js';

export interface Http2PortOptions {
  /** A connection was made. Returns the listener for its events. */
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
  /** The port could not take a connection, because the process can open no more sockets. */
  readonly onError?: (error: Error) => void;
  /** Told once whom {@link Http2Port.close} cut off, if anybody. */
  readonly onCutOff?: (connections: readonly CutOff[]) => void;
}

export interface Http2Port {
  /** Resolves with the real port; rejects when the address cannot be used. */
  listen(address: string, port: number): Promise<number>;
  /** Listens at a Unix socket too, after {@link listen}. */
  listenToo(path: string): Promise<void>;
  /** TLS of connections from now on; open ones keep theirs. Only a port that was made with TLS has it. */
  renewTls(tls: TlsOptions): void;
  /** Open connections, without sockets in the handshake of TLS. */
  readonly connections: number;
  /**
   * Asks clients to open their next streams on other connections. Serves the streams that they open here, and new connections.
   */
  retire(): void;
  /** Takes no new connections. Existing ones end after the last stream that their clients open before they hear of it. */
  drain(): void;
  /** Connections with a call or an answer under way. */
  readonly underWay: number;
  /** Connections with nothing under way whose clients may still make a call. */
  readonly awaited: number;
  /** Resolves when all calls are answered and all answers are written. To be called after {@link drain}. */
  settled(): Promise<void>;
  /** Drains, and resolves when no socket is open. After `graceMilliseconds` it closes the rest. Idempotent. */
  close(graceMilliseconds: number): Promise<void>;
}

/** Makes a port that does not listen yet. */
export type OpenHttp2Port = (options: Http2PortOptions) => Http2Port;
