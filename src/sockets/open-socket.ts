// Connects to a server, with TLS or without, for every wire.

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';

import { directSocket, readByEvents, type ByteSink } from './socket-reader.js';

/** An idle connection asks after so long whether the other side is still there. */
const PROBE_MILLISECONDS = 60_000;

export interface SocketAddress {
  readonly host: string;
  readonly port: number;
  /** Of a Unix socket in place of host and port. */
  readonly path?: string | undefined;
  /** Default: no TLS. */
  readonly tls?: ConnectionOptions | undefined;
}

/** The socket, still connecting, which is read to the sink. `memory` is what plain sockets are read into. */
export function openSocket(
  { host, port, path, tls }: SocketAddress,
  memory: Buffer,
  sink: ByteSink,
): Socket | TLSSocket {
  if (path !== undefined) return connectTcp({ path, ...directSocket(memory, sink) });
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_MILLISECONDS };
  if (tls === undefined) return connectTcp({ ...options, ...directSocket(memory, sink) });
  // Server names are names: an address is none.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return readByEvents(connectTls({ ...servername, ...tls, ...options }), sink);
}
