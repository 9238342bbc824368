import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { otherConnection } from '../../test/support/share-owner.js';
import { ByteBudget } from '../sockets/byte-budget.js';
import { BlockPool } from '../sockets/output.js';
import { allocateReadMemory, readAccepted } from '../sockets/socket-reader.js';
import { WriteTurn } from '../sockets/write-turn.js';
import type { ServeRequest } from './http-exchange.js';
import { SocketConnection } from './socket-connection.js';

const MIB = 1 << 20;
const GET = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** A connection on a socket that was accepted, and its client. */
async function accept(serve: ServeRequest, budget?: ByteBudget) {
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
    budget,
  });
  open.push({ close: () => (client.destroy(), connection.socket.destroy()) });
  return { client, connection, tick: (now: number) => connection.tick((clock.now = now)) };
}

describe('a socket', () => {
  it('has a time to take what is written, only while it takes nothing', async () => {
    const body = Buffer.alloc(20_000_000);
    const { client, connection, tick } = await accept((answer) =>
      answer.respond(200, ['Content-Length', String(body.length)], [body]),
    );
    const isWaiting = () => connection.socket.writableNeedDrain;
    client.pause().write(GET);
    await expect.poll(isWaiting).toBe(true);
    tick(0);
    tick(300_000);
    let received = 0;
    client.on('data', (chunk: Buffer) => (received += chunk.length)).resume();
    await expect.poll(() => received).toBeGreaterThan(body.length);
    await expect.poll(isWaiting).toBe(false);
    tick(300_001);
    client.pause().write(GET);
    await expect.poll(isWaiting).toBe(true);
    tick(300_002);
    tick(600_002);
    expect(connection.socket.destroyed).toBe(false);
    tick(600_003);
    expect(connection.socket.destroyed).toBe(true);
  });

  it('is closed a while after its last answer, when the client does not close it', async () => {
    const { client, connection, tick } = await accept((answer) => answer.respond(200, ['Content-Length', '0'], []));
    client.resume().write('GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
    await once(client, 'end');
    tick(900);
    expect(connection.socket.destroyed).toBe(false);
    tick(1100);
    expect(connection.socket.destroyed).toBe(true);
  });

  it('is not closed in a turn in which a request may have come that nobody has read', async () => {
    const { client, connection } = await accept((answer) => answer.respond(200, ['Content-Length', '0'], []));
    let received = '';
    client.on('data', (chunk: Buffer) => (received += chunk.toString()));
    const ended = once(client, 'end');
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    // The client has had its time to ask.
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 1000);
    open.push({ close: () => vi.restoreAllMocks() });
    connection.drain();
    for (let turns = 0; turns < 20 && received === ''; turns++) {
      const begin = performance.now();
      while (performance.now() - begin < 5);
      if (turns === 10) client.write(GET);
      await turn();
    }
    await ended;
    expect(received).toContain('200 OK');
    expect(received).toContain('Connection: close');
  });

  it('is written once for all answers of a turn', async () => {
    const { client, connection } = await accept((answer) => answer.respond(200, ['Content-Length', '0'], []));
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

  it('whose upload stands still makes room for others, and for nobody before', async () => {
    const budget = new ByteBudget(64 * MIB);
    const other = otherConnection(budget);
    const { client, connection, tick } = await accept((exchange) => {
      exchange.receiveBody({ limit: Infinity, alignedAt: 0, onBody: () => undefined });
    }, budget);
    let received = '';
    client.on('data', (chunk: Buffer) => (received += chunk.toString()));
    client.write(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${20 * MIB}\r\n\r\n`);
    client.write(Buffer.alloc(19 * MIB));
    await expect.poll(() => budget.held).toBe(19 * MIB);
    tick(0);
    tick(1900);
    expect(connection.isStalled).toBe(false);
    expect(other.holds(25 * MIB)).toBe(false);
    tick(2100);
    expect(connection.isStalled).toBe(true);
    // The budget looks at connections again after a while.
    await expect.poll(() => other.holds(25 * MIB)).toBe(true);
    await once(client, 'end');
    expect(received).toMatch(/^HTTP\/1\.1 408 [^]*"Request Timeout"/);
    expect(budget.held).toBe(25 * MIB);
    expect(connection.isStalled).toBe(false);
  });

  it('whose answers nobody reads makes room for others, at the cost of the connection', async () => {
    const budget = new ByteBudget(256 * MIB);
    const other = otherConnection(budget);
    const body = Buffer.alloc(100 * MIB);
    const { client, connection, tick } = await accept(
      (answer) => answer.respond(200, ['Content-Length', String(body.length)], [body]),
      budget,
    );
    client.pause().on('error', () => undefined);
    client.write(GET);
    await expect.poll(() => budget.held).toBeGreaterThan(80 * MIB);
    tick(0);
    tick(5000);
    expect(connection.isStalled).toBe(false);
    tick(5100);
    expect(connection.isStalled).toBe(true);
    expect(other.holds(100 * MIB)).toBe(true);
    expect(connection.socket.destroyed).toBe(true);
    expect(budget.held).toBe(100 * MIB);
  });

  it('gives its place to others while it is idle', async () => {
    const { client, connection } = await accept((answer) => answer.respond(200, ['Content-Length', '0'], []));
    client.resume();
    expect(connection.hasServed).toBe(false);
    client.write(GET);
    await expect.poll(() => connection.hasServed).toBe(true);
    const closed = once(client, 'end');
    connection.closeIdle();
    await closed;
    expect(connection.socket.destroyed).toBe(true);
  });
});
