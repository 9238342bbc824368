// A process that holds connections on which nothing happens: half of them of HTTP, which have asked for health once, and half of
// gRPC, which have said hello. An order is the port of each and how many there are to be; the answer, how many of those that
// were open before still are.

import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { serveControl } from '../control-channel.js';
import { opening } from './http2-frames.js';

export interface IdleOrder {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly connections: number;
}

const AT_ONCE = 100;
const open = new Set<Socket>();

const HEALTH = Buffer.from('GET /v2/health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');

/** Resolves when the server has answered. */
function openOne(port: number, first: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => socket.write(first));
    socket.once('data', () => {
      open.add(socket);
      resolve();
    });
    socket.on('data', () => undefined);
    socket.on('error', reject);
    socket.on('close', () => {
      open.delete(socket);
      reject(new Error('the server closed a connection'));
    });
  });
}

async function hold({ httpPort, grpcPort, connections }: IdleOrder): Promise<number> {
  const stillOpen = open.size;
  while (open.size < connections) {
    const count = Math.min(AT_ONCE, connections - open.size);
    const more = Array.from({ length: count }, (_, i) =>
      i % 2 === 0 ? openOne(httpPort, HEALTH) : openOne(grpcPort, opening()),
    );
    await Promise.all(more);
  }
  return stillOpen;
}

serveControl({
  ports: {},
  load: (order) => hold(order as IdleOrder),
  stop: () => {
    for (const socket of open) socket.destroy();
    return Promise.resolve();
  },
});
