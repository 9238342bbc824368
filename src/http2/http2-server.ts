// A listening port for HTTP/2, with prior knowledge or over TLS with ALPN, and its connections.

import { Listener } from '../sockets/listener.js';
import { completeOptions } from './connection-options.js';
import type { Http2Port, Http2PortOptions } from './http2-port.js';
import { SocketConnection } from './socket-connection.js';

export class Http2Server implements Http2Port {
  readonly #listener: Listener;

  constructor({
    listen,
    connection: options,
    tls,
    onError,
    onHandshakeError,
    onCutOff,
    budget,
    limit,
  }: Http2PortOptions) {
    const { handshakeTimeout } = completeOptions(options);
    this.#listener = new Listener({
      tls: tls && { ...tls, ALPNProtocols: ['h2'] },
      handshakeTimeout: handshakeTimeout > 0 ? handshakeTimeout : undefined,
      refuseSecure: ({ alpnProtocol }) =>
        alpnProtocol === 'h2' ? undefined : new Error('the client did not ask for the protocol h2'),
      connect: (read, shared) => new SocketConnection(read, { role: 'server', listen, options, ...shared }),
      onError,
      onHandshakeError,
      onCutOff,
      budget,
      limit,
    });
  }

  listen(address: string, port: number): Promise<number> {
    return this.#listener.listen(address, port);
  }

  listenToo(path: string): Promise<void> {
    return this.#listener.listenToo(path);
  }

  get connections(): number {
    return this.#listener.connections;
  }

  retire(): void {
    this.#listener.retire();
  }

  drain(): void {
    this.#listener.drain();
  }

  get underWay(): number {
    return this.#listener.underWay;
  }

  get awaited(): number {
    return this.#listener.awaited;
  }

  settled(): Promise<void> {
    return this.#listener.settled();
  }

  close(graceMilliseconds: number): Promise<void> {
    return this.#listener.close(graceMilliseconds);
  }
}
