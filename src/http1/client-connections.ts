// A client's connections to one server: those that wait for their next request are kept for a while, and used again, the last one
// first, so that in quiet times the others grow old. A kept connection keeps no process alive.

import type { Socket } from 'node:net';
import type { ConnectionOptions as TlsOptions } from 'node:tls';

import { openSocket } from '../sockets/open-socket.js';
import { BlockPool } from '../sockets/output.js';
import { allocateReadMemory, type ByteSink } from '../sockets/socket-reader.js';
import { ClientConnection, type ConnectionOwner } from './client-connection.js';
import type { ResponseHead } from './response-head.js';

/** The server closes the connection that it said to keep for so long; a request may be under way then. */
const EARLIER_MILLISECONDS = 1000;
/** How exact the times are. */
const TICK_MILLISECONDS = 1000;
/** Servers of Starlette, as MLServer and KServe's Python SDK, answer so when a model fails, and then close the connection unannounced. */
const FAILED = 500;
/** How long a connection waits for that close. Servers that say how long they keep it do not close it. */
const REST_MILLISECONDS = 20;

export interface ClientConnectionsOptions {
  readonly host: string;
  readonly port: number;
  /** Called before each connection is made; may throw. Default: no TLS. */
  readonly tls?: (() => TlsOptions) | undefined;
  /** Idle connections to keep; further ones are closed. */
  readonly maxIdle: number;
  /** How long they wait, unless the server says that it keeps them for less. */
  readonly idleMilliseconds: number;
}

/** What the connections of this thread share, made with the first of them. */
let shared: { readonly memory: Buffer; readonly pool: BlockPool } | undefined;

export class ClientConnections implements ConnectionOwner {
  readonly pool: BlockPool;
  readonly #options: ClientConnectionsOptions;
  readonly #memory: Buffer;
  readonly #all = new Set<ClientConnection>();
  /** With the time at which each is too old, in the order in which they became idle. */
  #idle: { readonly connection: ClientConnection; readonly until: number }[] = [];
  /** While any are idle. */
  #ticks: NodeJS.Timeout | undefined;
  /** Of TLS: makes the next handshake shorter. */
  #session: Buffer | undefined;
  /** The options that the session was made with. */
  #tls: TlsOptions | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(options: ClientConnectionsOptions) {
    this.#options = options;
    shared ??= { memory: allocateReadMemory(), pool: new BlockPool() };
    this.#memory = shared.memory;
    this.pool = shared.pool;
  }

  /** Whether any waits for a request. */
  get hasIdle(): boolean {
    return this.#idle.length > 0;
  }

  /** Whether the last connection was made with a certificate of the client. */
  get givesCertificate(): boolean {
    return this.#tls?.cert !== undefined;
  }

  /** One that was kept, or a new one, on which a request may be sent at once. */
  take(): ClientConnection {
    const now = performance.now();
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      const { connection, until } = last;
      if (connection.socket.destroyed) continue;
      if (now < until) {
        connection.socket.ref();
        return connection;
      }
      connection.socket.destroy();
    }
    const connection = new ClientConnection((sink) => this.#open(sink), this.#options.tls !== undefined, this);
    this.#all.add(connection);
    return connection;
  }

  /** Closes idle connections. */
  closeIdle(): void {
    for (const { connection } of this.#idle.splice(0)) connection.socket.destroy();
  }

  /** Closes all; settles when they are closed. */
  async close(): Promise<void> {
    clearInterval(this.#ticks);
    this.#idle.length = 0;
    for (const { socket } of this.#all) socket.destroy();
    if (this.#all.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
  }

  onIdle(connection: ClientConnection, { status, keptMilliseconds }: ResponseHead): void {
    connection.socket.unref();
    const kept = (keptMilliseconds ?? Infinity) - EARLIER_MILLISECONDS;
    if (status !== FAILED || keptMilliseconds !== undefined) this.#keep(connection, kept);
    else setTimeout(() => this.#keep(connection, kept), REST_MILLISECONDS).unref();
  }

  #keep(connection: ClientConnection, keptMilliseconds: number): void {
    const { maxIdle, idleMilliseconds } = this.#options;
    const kept = Math.min(keptMilliseconds, idleMilliseconds);
    if (connection.socket.destroyed) return;
    if (kept <= 0 || this.#idle.length >= maxIdle) {
      connection.socket.destroy();
      return;
    }
    this.#idle.push({ connection, until: performance.now() + kept });
    this.#ticks ??= setInterval(() => this.#closeOld(), TICK_MILLISECONDS).unref();
  }

  onClosed(connection: ClientConnection): void {
    this.#all.delete(connection);
    const place = this.#idle.findIndex((idle) => idle.connection === connection);
    if (place >= 0) this.#idle.splice(place, 1);
    if (this.#all.size === 0) this.#onEmpty?.();
  }

  #closeOld(): void {
    const now = performance.now();
    this.#idle = this.#idle.filter(({ connection, until }) => {
      if (until <= now) connection.socket.destroy();
      return until > now;
    });
    if (this.hasIdle) return;
    clearInterval(this.#ticks);
    this.#ticks = undefined;
  }

  #open(sink: ByteSink): Socket {
    const { host, port, tls } = this.#options;
    if (tls === undefined) return openSocket({ host, port }, this.#memory, sink);
    const options = tls();
    // A session would pass over other certificates than those that it was made with, on both sides.
    if (options !== this.#tls) this.#session = undefined;
    this.#tls = options;
    const session = this.#session === undefined ? {} : { session: this.#session };
    const secure = { ...options, ...session, ALPNProtocols: ['http/1.1'] };
    const socket = openSocket({ host, port, tls: secure }, this.#memory, sink);
    socket.on('session', (ticket: Buffer) => {
      if (options === this.#tls) this.#session = ticket;
    });
    // Whatever was wrong, the next handshake is a whole one.
    socket.on('error', () => (this.#session = undefined));
    return socket;
  }
}
