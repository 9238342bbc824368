// Keepalive of a real connection, whose client is made of bare sockets where it has to misbehave.

import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { FakeConnection } from '../../../test/support/fake-http2.js';
import { standStill } from '../../../test/support/standstill.js';
import { encodeHeaders, FLAG, FRAME, RawHttp2, uint32 } from '../../../test/support/raw-http2.js';
import { Http2Server } from '../../http2/http2-server.js';
import { ConnectionKeepalive, DEFAULT_KEEPALIVE, type KeepaliveOptions, PingStrikes } from './connection-keepalive.js';
import type { CallListener, GrpcCall } from './grpc-call.js';
import { FLUSH_MILLISECONDS, openGrpcPort } from './grpc-port.js';

const ignore = () => undefined;
/** After a time is over, what has come by then is read. */
const READING = 2;
const HEADERS = { ':method': 'POST', ':path': '/s/m', 'content-type': 'application/grpc', te: 'trailers' };
const LISTENER: CallListener = { onData: ignore, onNoRoom: ignore, onEnd: ignore, onClose: ignore };

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  for (const close of cleanup.splice(0).reverse()) await close();
});

async function serve(options: Partial<KeepaliveOptions>) {
  const calls: GrpcCall[] = [];
  const log: string[] = [];
  const transport = openGrpcPort({
    open: (port) => new Http2Server(port),
    logger: { error: ignore, warn: ignore, info: ignore, verbose: (_level, text) => void log.push(text) },
    keepalive: { ...DEFAULT_KEEPALIVE, ...options },
    route: () => (call) => {
      calls.push(call);
      return LISTENER;
    },
  });
  cleanup.push(() => transport.close(FLUSH_MILLISECONDS));
  return { port: await transport.listen('127.0.0.1', 0), calls, log };
}

interface Client {
  readonly session: ClientHttp2Session;
  /** Pings that came from the server. */
  pings(): number;
  /** The code of the GOAWAY with which the server ended the connection. */
  readonly goaway: Promise<number>;
}

async function connected(port: number): Promise<Client> {
  const session = connect(`http://127.0.0.1:${port}`);
  cleanup.push(() => session.destroy());
  session.on('error', ignore);
  let count = 0;
  session.on('ping', () => void count++);
  const goaway = new Promise<number>((resolve) => session.on('goaway', resolve));
  await once(session, 'connect');
  return { session, pings: () => count, goaway };
}

function ping(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => session.ping((error) => (error === null ? resolve() : reject(error))));
}

/** A client that answers nothing. */
async function silentClient(port: number): Promise<Socket> {
  const socket = connectSocket(port, '127.0.0.1');
  cleanup.push(() => socket.destroy());
  socket.on('error', ignore);
  socket.resume();
  const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), emptySettings]));
  await once(socket, 'connect');
  return socket;
}

const QUICK = { keepaliveTime: 20, keepaliveTimeout: 60_000 };

describe('pings to clients', () => {
  it('are sent to a silent one while it has a call, so many until there is something else to send', async () => {
    const { port, calls } = await serve({ ...QUICK, maxPingsWithoutData: 2 });
    const { session, pings } = await connected(port);
    const stream = session.request(HEADERS, { endStream: false });
    stream.on('error', ignore);
    await vi.waitFor(() => expect(pings()).toBe(2));
    stream.on('data', ignore);
    calls[0]!.write([Buffer.from('answer')]);
    await vi.waitFor(() => expect(pings()).toBe(4));
  });

  it('are sent without calls when that is permitted, and any number of them', async () => {
    const { port } = await serve({ ...QUICK, permitWithoutCalls: true, maxPingsWithoutData: 0 });
    const { pings } = await connected(port);
    await vi.waitFor(() => expect(pings()).toBeGreaterThan(4));
  });

  it('end the connection when they are not answered in time', async () => {
    const { port, log } = await serve({ ...QUICK, keepaliveTimeout: 30, permitWithoutCalls: true });
    const socket = await silentClient(port);
    await once(socket, 'close');
    expect(log).toContain('gRPC connection closed: keepalive watchdog timeout');
  });

  it('end the connection when they are not answered, and not before', () => {
    vi.useFakeTimers();
    const connection = new FakeConnection();
    const options = { keepaliveTime: 1000, keepaliveTimeout: 500, permitWithoutCalls: true, maxPingsWithoutData: 0 };
    new ConnectionKeepalive(connection, { ...DEFAULT_KEEPALIVE, ...options }, ignore);
    for (let round = 1; round <= 8; round++) {
      vi.advanceTimersByTime(1000 + READING);
      expect(connection.pings).toBe(round);
      vi.advanceTimersByTime(499);
      connection.answer();
    }
    vi.advanceTimersByTime(1000 + READING + 499);
    expect([connection.pings, connection.closedWith !== undefined]).toEqual([9, false]);
    vi.advanceTimersByTime(1 + READING);
    expect(connection.closedWith !== undefined).toBe(true);
  });

  it('leave time for an answer when the server itself stood still, and read first what has come', () => {
    vi.useFakeTimers();
    const connection = new FakeConnection();
    const options = { keepaliveTime: 1000, keepaliveTimeout: 500, permitWithoutCalls: true, maxPingsWithoutData: 0 };
    new ConnectionKeepalive(connection, { ...DEFAULT_KEEPALIVE, ...options }, ignore);
    vi.advanceTimersByTime(1000 + READING);
    standStill(60_000);
    vi.advanceTimersByTime(500 + 499);
    expect([connection.pings, connection.closedWith]).toEqual([1, undefined]);
    // The timers come before the bytes.
    setTimeout(() => setImmediate(() => connection.answer()), 1);
    vi.advanceTimersByTime(500);
    expect([connection.pings, connection.closedWith]).toEqual([1, undefined]);
  });

  it('are not sent to a client of which something comes, and not after the connection has ended', () => {
    vi.useFakeTimers();
    const connection = new FakeConnection();
    const options = { keepaliveTime: 1000, permitWithoutCalls: true, maxPingsWithoutData: 0 };
    const keepalive = new ConnectionKeepalive(connection, { ...DEFAULT_KEEPALIVE, ...options }, ignore);
    for (let second = 0; second < 5; second++) {
      connection.receivedBytes++;
      vi.advanceTimersByTime(1000);
    }
    expect(connection.pings).toBe(0);
    vi.advanceTimersByTime(1000);
    expect(connection.pings).toBe(1);
    keepalive.stop();
    connection.answer();
    vi.advanceTimersByTime(100_000);
    expect([connection.pings, connection.closedWith]).toEqual([1, undefined]);
  });
});

describe('pings from clients', () => {
  it('end the connection when a client without calls sends more than three, as with Triton', async () => {
    const { port, log } = await serve({});
    const { session, goaway } = await connected(port);
    for (let i = 0; i < 3; i++) await ping(session);
    void ping(session).catch(ignore);
    expect(await goaway).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(log).toEqual(['gRPC connection closed: too many pings']);
  });

  it('are counted from anew when something was sent', async () => {
    const { port, calls } = await serve({});
    const { session, goaway } = await connected(port);
    const stream = session.request(HEADERS, { endStream: false });
    stream.on('error', ignore);
    stream.on('data', ignore);
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    for (let i = 0; i < 20; i++) {
      if (i % 3 === 2) calls[0]!.write([Buffer.from('x')]);
      await ping(session);
    }
    for (let i = 0; i < 8; i++) void ping(session).catch(ignore);
    expect(await goaway).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });

  it('may be as many as they like where there is no limit', async () => {
    const { port } = await serve({ maxPingStrikes: 0 });
    const { session } = await connected(port);
    for (let i = 0; i < 20; i++) await ping(session);
    expect(session.destroyed).toBe(false);
  });

  it('are not counted while the system takes nothing that is sent, and frames of calls begin the count anew', () => {
    const connection = new FakeConnection();
    const keepalive = new ConnectionKeepalive(connection, DEFAULT_KEEPALIVE, ignore);
    const pingTwentyTimes = (between: () => void) => {
      for (let now = 0; now < 20; now++) {
        keepalive.pinged(now);
        between();
      }
      return connection.closedWith;
    };
    expect(pingTwentyTimes(() => connection.sentMessageFrames++)).toBeUndefined();
    expect(pingTwentyTimes(() => connection.receivedMessageFrames++)).toBeUndefined();
    connection.isCongested = true;
    expect(pingTwentyTimes(ignore)).toBeUndefined();
    connection.isCongested = false;
    expect(pingTwentyTimes(ignore)).toEqual(['ENHANCE_YOUR_CALM', 'too_many_pings']);
    keepalive.stop();
  });

  it('may come as often as is permitted', async () => {
    const { port } = await serve({ permitWithoutCalls: true, minRecvPingInterval: 0 });
    const { session } = await connected(port);
    for (let i = 0; i < 20; i++) await ping(session);
    expect(session.destroyed).toBe(false);
  });
});

describe('pings from a client that measures how fast data comes', () => {
  const WINDOW = 65_535;

  /** A client of bare frames with one call, whose windows are those that HTTP/2 begins with. */
  async function begin() {
    const { port, calls, log } = await serve({});
    const client = await RawHttp2.open(port);
    cleanup.push(() => client[Symbol.dispose]());
    const headers = encodeHeaders(Object.entries({ ':scheme': 'http', ':authority': 'h', ...HEADERS }));
    client.send({ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 1, payload: headers });
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    /** Pings, and waits until that was answered or the server has had enough. */
    const pingOnce = async () => {
      const answers = client.countOf(FRAME.PING);
      client.send({ type: FRAME.PING, payload: Buffer.alloc(8) });
      await client.until(() => client.countOf(FRAME.PING) > answers || client.countOf(FRAME.GOAWAY) > 0);
    };
    const dataBytes = () =>
      client.frames.reduce((sum, { type, payload }) => sum + (type === FRAME.DATA ? payload.length : 0), 0);
    return { client, call: calls[0]!, log, pingOnce, dataBytes };
  }

  it('are as many as it likes while a large answer is on its way', async () => {
    const { client, call, pingOnce, dataBytes } = await begin();
    const WINDOWS = 20;
    call.respond([Buffer.alloc(WINDOWS * WINDOW)]);
    for (let windows = 1; windows < WINDOWS; windows++) {
      await client.until(() => dataBytes() === windows * WINDOW);
      await pingOnce();
      const payload = uint32(WINDOW);
      client.send({ type: FRAME.WINDOW_UPDATE, payload }, { type: FRAME.WINDOW_UPDATE, stream: 1, payload });
    }
    await client.until(() => dataBytes() === WINDOWS * WINDOW);
    expect(client.countOf(FRAME.GOAWAY)).toBe(0);
  });

  it('are as many as it likes between the pieces of a large request', async () => {
    const { client, pingOnce } = await begin();
    for (let i = 0; i < 20; i++) {
      client.send({ type: FRAME.DATA, stream: 1, payload: Buffer.alloc(1000) });
      await pingOnce();
    }
    expect(client.countOf(FRAME.GOAWAY)).toBe(0);
  });

  it('are counted when it takes no more of the answer', async () => {
    const { client, call, log, pingOnce, dataBytes } = await begin();
    call.respond([Buffer.alloc(4 * WINDOW)]);
    await client.until(() => dataBytes() === WINDOW);
    for (let i = 0; i < 4; i++) await pingOnce();
    const goaway = await client.frame(({ type }) => type === FRAME.GOAWAY);
    expect(goaway!.payload.readUInt32BE(4)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(goaway!.payload.toString('latin1', 8)).toBe('too_many_pings');
    expect(log).toEqual(['gRPC connection closed: too many pings']);
  });

  it('are counted when the answer is through', async () => {
    const { client, call, pingOnce, dataBytes } = await begin();
    call.respond([Buffer.alloc(WINDOW)]);
    await client.until(() => dataBytes() === WINDOW);
    for (let i = 0; i < 5; i++) await pingOnce();
    expect(client.countOf(FRAME.GOAWAY)).toBeGreaterThan(0);
  });
});

const INTERVAL = 1000;

/** A connection that is pinged once a millisecond, with what else it carries. */
class Connection {
  readonly strikes: PingStrikes;
  messageFrames = 0;
  isStuck = false;
  #now = 0;

  constructor(max = 2) {
    this.strikes = new PingStrikes(max);
  }

  ping(): boolean {
    return this.strikes.pinged(this.#now++, INTERVAL, this);
  }

  /** Pings until one is too many, at most 100 times. */
  pingsToTheEnd(): number {
    let pings = 1;
    while (pings < 100 && !this.ping()) pings++;
    return pings;
  }
}

describe('PingStrikes', () => {
  it('allows one ping and so many more, when nothing else goes either way', () => {
    expect(new Connection().pingsToTheEnd()).toBe(4);
    expect(new Connection(5).pingsToTheEnd()).toBe(7);
  });

  it('allows any number where there is no limit', () => {
    expect(new Connection(0).pingsToTheEnd()).toBe(100);
  });

  it('does not count pings that come late enough', () => {
    const strikes = new PingStrikes(1);
    const pings = [0, 1, 1001, 2001, 3001, 3002].map((now) =>
      strikes.pinged(now, INTERVAL, { messageFrames: 0, isStuck: false }),
    );
    expect(pings).toEqual([false, false, false, false, false, true]);
  });

  it('begins anew with every frame of a call between two pings', () => {
    const connection = new Connection();
    for (let i = 0; i < 50; i++) {
      expect(connection.ping()).toBe(false);
      if (i % 3 === 2) connection.messageFrames++;
    }
    expect(connection.pingsToTheEnd()).toBeLessThanOrEqual(4);
  });

  it('does not count while the system takes nothing at all', () => {
    const connection = new Connection();
    connection.isStuck = true;
    expect(connection.pingsToTheEnd()).toBe(100);
    connection.isStuck = false;
    expect(connection.pingsToTheEnd()).toBe(3);
  });
});
