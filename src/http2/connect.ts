// Opens a connection to a server of HTTP/2, with prior knowledge or over TLS with ALPN.

import type { Socket } from 'node:net';
import { TLSSocket, type ConnectionOptions as TlsOptions } from 'node:tls';

import type { ConnectionListener } from './connection-listener.js';
import type { ConnectionOptions } from './connection-options.js';
import type { Http2Connection } from './connection.js';
import { afterReading } from '../pacing/after-reading.js';
import { openSocket } from '../sockets/open-socket.js';
import { BlockPool } from '../sockets/output.js';
import { ServedTime } from '../pacing/served-time.js';
import { SocketConnection } from './socket-connection.js';
import { allocateReadMemory, type ByteSink } from '../sockets/socket-reader.js';
import { WriteTurn } from '../sockets/write-turn.js';

/** How exact the timeouts of connections are. */
const TICK_MILLISECONDS = 500;

export interface Http2ConnectOptions {
  readonly host: string;
  readonly port: number;
  /** Of a Unix socket in place of host and port. */
  readonly path?: string | undefined;
  readonly listen: (connection: Http2Connection) => ConnectionListener;
  readonly connection?: ConnectionOptions | undefined;
  /** Default: no TLS. */
  readonly tls?: TlsOptions | undefined;
}

/** What the connections of a thread share. */
export class Http2Client {
  readonly #pool = new BlockPool();
  readonly #turn = new WriteTurn();
  readonly #memory = allocateReadMemory();

  /** The connection can be used at once. Its listener hears whether it could be made. */
  connect(options: Http2ConnectOptions): SocketConnection {
    const { listen, connection: connectionOptions } = options;
    const connection = new SocketConnection((sink) => this.#open(options, sink), {
      role: 'client',
      listen,
      options: connectionOptions,
      pool: this.#pool,
      turn: this.#turn,
    });
    const time = new ServedTime(2 * TICK_MILLISECONDS);
    const ticks = setInterval(() => afterReading(() => connection.tick(time.look())), TICK_MILLISECONDS).unref();
    connection.socket.once('close', () => clearInterval(ticks));
    return connection;
  }

  #open({ host, port, path, tls }: Http2ConnectOptions, sink: ByteSink): Socket {
    const secure = tls === undefined ? undefined : { ...tls, ALPNProtocols: ['h2'] };
    const socket = openSocket({ host, port, path, tls: secure }, this.#memory, sink);
    if (socket instanceof TLSSocket) {
      socket.once('secureConnect', () => {
        if (socket.alpnProtocol !== 'h2') socket.destroy(new Error('the server does not speak the protocol h2'));
      });
    }
    return socket;
  }
}
