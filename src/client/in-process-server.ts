// Where a client's requests go: to a server by its URL, or to one in this process, which opens its transport itself.

import { openTransport } from './open-transport.js';
import type { TransportOptions } from './client-options.js';
import { parseUrl } from './parse-url.js';
import type { Transport } from './transport.js';

/** What makes an object a server in this process; two copies of the package know each other's. */
export const OPEN_TRANSPORT: unique symbol = Symbol.for('tstriton.openTransport');

/** A server in this process: `inProcess` and `mockModel` of 'tstriton/testing' give one. */
export interface InProcessServer {
  /** For clients of this package. */
  readonly [OPEN_TRANSPORT]: () => unknown;
}

export interface ServerTarget {
  readonly protocol: 'http' | 'grpc';
  /** For messages. */
  readonly address: string;
  open(options: TransportOptions): Transport;
}

/** Throws INVALID_ARG saying what was got and what is expected. */
export function serverTarget(server: unknown): ServerTarget {
  if (isInProcess(server)) {
    return { protocol: 'grpc', address: 'this process', open: () => server[OPEN_TRANSPORT]() as Transport };
  }
  const url = parseUrl(server);
  return { protocol: url.protocol, address: url.address, open: (options) => openTransport(url, options) };
}

function isInProcess(server: unknown): server is InProcessServer {
  return typeof server === 'object' && server !== null && OPEN_TRANSPORT in server;
}
