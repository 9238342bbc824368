// A socket that sends every message back once it has all of it: what moving the bytes costs, without a protocol. A message is
// as long as the first four bytes of a connection say, which are no part of it.

import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

import { serveControl } from '../control-channel.js';

const LENGTH_BYTES = 4;

function serve(socket: Socket): void {
  let head = Buffer.alloc(0);
  let message: Buffer | undefined;
  let filled = 0;
  socket.on('data', (chunk: Buffer) => {
    let at = 0;
    if (message === undefined) {
      head = Buffer.concat([head, chunk]);
      if (head.length < LENGTH_BYTES) return;
      message = Buffer.allocUnsafeSlow(head.readUInt32LE(0));
      chunk = head;
      at = LENGTH_BYTES;
    }
    while (at < chunk.length) {
      const copied = chunk.copy(message, filled, at);
      at += copied;
      filled += copied;
      if (filled < message.length) continue;
      socket.write(message);
      message = Buffer.allocUnsafeSlow(message.length);
      filled = 0;
    }
  });
}

const sockets = new Set<Socket>();
const server = createServer({ noDelay: true }, (socket) => {
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
  socket.on('error', () => socket.destroy()); // a client that went away is not this server's concern
  serve(socket);
});
server.listen(0, '127.0.0.1', () => {
  serveControl({
    ports: { socketPort: (server.address() as AddressInfo).port },
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      return Promise.resolve();
    },
  });
});
