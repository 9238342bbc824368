// A listening port for HTTP/2, with prior knowledge or over TLS with ALPN, and its connections.

import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';

import { completeOptions } from './connection-options.js';
import type { Http2Port, Http2PortOptions } from './http2-port.js';
import { BlockPool } from './output.js';
import { SocketConnection } from './socket-connection.js';
import { allocateReadMemory, readAccepted, readByEvents, type ByteSink } from './socket-reader.js';
import { WriteTurn } from './write-turn.js';

/** How exact the timeouts of connections are. */
const TICK_MILLISECONDS = 500;

export class Http2Server implements Http2Port {
  readonly #options: Http2PortOptions;
  readonly #server: Server;
  readonly #connections = new Set<SocketConnection>();
  /** Sockets in their handshake of TLS too. */
  readonly #sockets = new Set<Socket>();
  readonly #pool = new BlockPool();
  readonly #turn = new WriteTurn();
  readonly #memory = allocateReadMemory();
  #ticks: NodeJS.Timeout | undefined;
  #portClosed: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(options: Http2PortOptions) {
    this.#options = options;
    if (options.tls === undefined) {
      this.#server = createServer({ noDelay: true, pauseOnConnect: true }, (accepted) =>
        this.#connect((sink) => readAccepted(accepted, this.#memory, sink)),
      );
      return;
    }
    const { handshakeTimeout } = completeOptions(options.connection);
    const limits = handshakeTimeout > 0 ? { handshakeTimeout } : {};
    const tls = { ...limits, ...options.tls, ALPNProtocols: ['h2'], noDelay: true };
    this.#server = createTlsServer(tls, (socket) => this.#connectSecure(socket));
    this.#server.on('connection', (socket: Socket) => this.#keep(socket));
    this.#server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
      options.onHandshakeError?.(error);
      // Node leaves that to us.
      socket.destroy();
    });
  }

  listen(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, address, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error: Error) => this.#options.onError?.(error));
        this.#ticks = setInterval(() => this.#tick(), TICK_MILLISECONDS).unref();
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  get connections(): number {
    return this.#connections.size;
  }

  retire(): void {
    for (const { connection } of this.#connections) connection.announceEnd();
  }

  drain(): void {
    if (this.#portClosed !== undefined) return;
    this.#portClosed = new Promise((resolve) => this.#server.close(() => resolve()));
    for (const { connection } of this.#connections) connection.drain();
  }

  close(graceMilliseconds: number): Promise<void> {
    return (this.#closed ??= this.#close(graceMilliseconds));
  }

  async #close(graceMilliseconds: number): Promise<void> {
    this.drain();
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, graceMilliseconds);
    await this.#portClosed;
    if (this.#sockets.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
    clearTimeout(timer);
    clearInterval(this.#ticks);
  }

  #connectSecure(socket: TLSSocket): void {
    if (socket.alpnProtocol === 'h2') {
      this.#connect((sink) => readByEvents(socket, sink));
      return;
    }
    this.#options.onHandshakeError?.(new Error('the client did not ask for the protocol h2'));
    socket.destroy();
  }

  #connect(read: (sink: ByteSink) => Socket): void {
    const { listen, connection: options } = this.#options;
    const one = new SocketConnection(read, {
      role: 'server',
      listen,
      options,
      pool: this.#pool,
      turn: this.#turn,
    });
    this.#connections.add(one);
    one.socket.once('close', () => this.#connections.delete(one));
    this.#keep(one.socket);
    // It was accepted just before the port closed.
    if (this.#portClosed !== undefined) one.connection.drain();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#onEmpty?.();
    });
  }

  #tick(): void {
    const now = performance.now();
    for (const one of this.#connections) one.tick(now);
  }
}
