// Thousands of connections that say nothing, and somebody who works meanwhile.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { startServer } from '../../support/start-server.js';
import { memory, plain, quantile, type Check } from '../check.js';
import { answerAll, ask, clientsOf, echo } from './served.js';

const CONNECTIONS = 5000;
const ASKED = 'GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n';
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);

export const idle: Check = {
  about: `${CONNECTIONS} connections without requests, half HTTP and half gRPC`,
  async run() {
    await using server = await startServer((triton) => void triton.bind({ ...echo, inferFunc: answerAll }));
    const clients = clientsOf(server);
    const probe = async () => {
      const took: number[] = [];
      for (let i = 0; i < 1000; i++) {
        const begin = performance.now();
        await ask(clients[i % 2]!, i);
        took.push(performance.now() - begin);
      }
      return took;
    };
    await probe();
    const alone = await probe();
    const before = await memory();
    const sockets: Socket[] = [];
    let closed = 0;
    for (let i = 0; i < CONNECTIONS; i++) {
      const isGrpc = i % 2 === 1;
      const socket = connect(Number(new URL(isGrpc ? server.grpc : server.http).port), '127.0.0.1');
      socket.on('error', () => undefined).on('close', () => closed++);
      socket.write(isGrpc ? PREFACE : ASKED);
      await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      socket.resume();
      sockets.push(socket);
    }
    const after = await memory();
    const crowded = await probe();
    const open = CONNECTIONS - closed;
    for (const socket of sockets) socket.destroy();
    await Promise.all(clients.map((client) => client.close()));
    return [
      { what: 'still open', got: String(open), wanted: String(CONNECTIONS), isMet: open === CONNECTIONS },
      plain(
        'memory of a connection, both of its ends',
        `${((after.resident - before.resident) / CONNECTIONS / 1000).toFixed(1)} kB`,
      ),
      plain(
        'a request meanwhile: median, p99',
        `${quantile(crowded, 0.5).toFixed(2)}, ${quantile(crowded, 0.99).toFixed(2)} ms`,
      ),
      plain(
        'a request before: median, p99',
        `${quantile(alone, 0.5).toFixed(2)}, ${quantile(alone, 0.99).toFixed(2)} ms`,
      ),
    ];
  },
};
