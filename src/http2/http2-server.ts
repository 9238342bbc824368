// A listening port for HTTP/2, with prior knowledge or over TLS with ALPN, and its connections.

import { Listener } from '../sockets/listener.js';
import { completeOptions } from './connection-options.js';
import type { Http2Port, Http2PortOptions } from './http2-port.js';
import { SocketConnection } from './socket-connection.js';

export class Http2Server extends Listener implements Http2Port {
  constructor({ listen, connection: options, tls, ...told }: Http2PortOptions) {
    const { handshakeTimeout } = completeOptions(options);
    super({
      ...told,
      tls: tls && { ...tls, ALPNProtocols: ['h2'] },
      handshakeTimeout: handshakeTimeout > 0 ? handshakeTimeout : undefined,
      refuseSecure: ({ alpnProtocol }) =>
        alpnProtocol === 'h2' ? undefined : new Error('the client did not ask for the protocol h2'),
      connect: (read, shared) => new SocketConnection(read, { role: 'server', listen, options, ...shared }),
    });
  }
}
