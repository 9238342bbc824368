// Finds the server of a client: by its URL, or a server in this process, which opens its transport itself.

import { OPEN_TRANSPORT, type InProcessServer } from '../in-process/open-transport.js';
import { openTransport } from './open-transport.js';
import type { TransportOptions } from './client-options.js';
import { parseUrl } from './parse-url.js';
import type { Transport } from './transport.js';
import { TurnQueue, type ConcurrencyLimits } from './turn-queue.js';

/** The transport of a client, and the queue in which its calls wait for their turn. */
export interface OpenServer {
  readonly transport: Transport;
  readonly turns: TurnQueue;
  /** Called when the client is closed and sends no more requests. */
  close(): Promise<void>;
}

export interface ServerTarget {
  readonly protocol: 'http' | 'grpc';
  /** For error messages. */
  readonly address: string;
  open(options: TransportOptions): OpenServer;
}

/** Throws INVALID_ARG with the value it got and a description of a valid one. */
export function serverTarget(server: unknown): ServerTarget {
  if (server instanceof SharedServer) return server;
  if (isInProcess(server)) {
    const open = (options: TransportOptions) => alone(server[OPEN_TRANSPORT]() as Transport, options);
    return { protocol: 'grpc', address: 'this process', open };
  }
  const url = parseUrl(server);
  const open = (options: TransportOptions) => alone(openTransport(url, options), options);
  return { protocol: url.protocol, address: url.address, open };
}

/** Opens a server for a single client. */
function alone(transport: Transport, limits: ConcurrencyLimits): OpenServer {
  return { transport, turns: new TurnQueue(limits), close: () => transport.close() };
}

/** A server whose connections and turns several clients share. */
export class SharedServer implements ServerTarget, InProcessServer {
  readonly protocol: 'http' | 'grpc';
  readonly address: string;
  readonly #open: OpenServer;

  constructor(target: ServerTarget, options: TransportOptions) {
    this.protocol = target.protocol;
    this.address = target.address;
    this.#open = target.open(options);
  }

  /** Opens the server for one of the clients. That client's close leaves the connections of the others open. */
  open(): OpenServer {
    return { ...this.#open, close: () => Promise.resolve() };
  }

  [OPEN_TRANSPORT](): Transport {
    return this.#open.transport;
  }

  close(): Promise<void> {
    return this.#open.close();
  }
}

function isInProcess(server: unknown): server is InProcessServer {
  return typeof server === 'object' && server !== null && OPEN_TRANSPORT in server;
}
