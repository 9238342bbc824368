import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { BlockPool } from '../sockets/output.js';
import { allocateReadMemory, readAccepted } from '../sockets/socket-reader.js';
import { WriteTurn } from '../sockets/write-turn.js';
import type { ServeRequest } from './http-exchange.js';
import { SocketConnection } from './socket-connection.js';

const GET = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** A connection on a socket that was accepted, and its client. */
async function accept(serve: ServeRequest) {
  const listener = createServer({ pauseOnConnect: true, allowHalfOpen: true });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  open.push({ close: () => new Promise((resolve) => listener.close(resolve)) });
  const accepted = once(listener, 'connection');
  const client = connect({ port: (listener.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const [socket] = (await accepted) as [Socket];
  const clock = { now: 0 };
  const connection = new SocketConnection((sink) => readAccepted(socket, allocateReadMemory(), sink), {
    serve,
    clock,
    pool: new BlockPool(),
    turn: new WriteTurn(),
  });
  open.push({ close: () => (client.destroy(), connection.socket.destroy()) });
  return { client, connection, tick: (now: number) => connection.tick((clock.now = now)) };
}

describe('a socket', () => {
  it('has a time to take what is written, only while it takes nothing', async () => {
    const body = Buffer.alloc(20_000_000);
    const { client, connection } = await accept((_, answer) =>
      answer.respond(200, ['Content-Length', String(body.length)], [body]),
    );
    expect(connection.socket.timeout ?? 0).toBe(0);
    client.pause().write(GET);
    await expect.poll(() => connection.socket.timeout).toBe(300_000);
    let received = 0;
    client.on('data', (chunk: Buffer) => (received += chunk.length)).resume();
    await expect.poll(() => received).toBeGreaterThan(body.length);
    await expect.poll(() => connection.socket.timeout).toBe(0);
    client.pause().write(GET);
    await expect.poll(() => connection.socket.timeout).toBe(300_000);
    connection.socket.emit('timeout');
    expect(connection.socket.destroyed).toBe(true);
  });

  it('is closed a while after its last answer, when the client does not close it', async () => {
    const { client, connection, tick } = await accept((_, answer) => {
      answer.closeConnection();
      answer.respond(200, ['Content-Length', '0'], []);
    });
    client.resume().write(GET);
    await once(client, 'end');
    tick(900);
    expect(connection.socket.destroyed).toBe(false);
    tick(1100);
    expect(connection.socket.destroyed).toBe(true);
  });

  it('is written once for all answers of a turn', async () => {
    const { client, connection } = await accept((_, answer) => answer.respond(200, ['Content-Length', '0'], []));
    let writes = 0;
    const { socket } = connection;
    const write = socket.write.bind(socket) as (chunk: Uint8Array) => boolean;
    socket.write = (chunk: Uint8Array) => (writes++, write(chunk));
    client.write(GET.repeat(50));
    let received = '';
    client.on('data', (chunk: Buffer) => (received += chunk.toString()));
    await expect.poll(() => received.match(/200 OK/g)?.length).toBe(50);
    expect(writes).toBe(1);
  });
});
