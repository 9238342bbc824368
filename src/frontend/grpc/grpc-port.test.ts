// Calls on HTTP/2 alone, against a client of node:http2 that shows what is on the wire.

import { once } from 'node:events';
import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';

import type { OpenHttp2Port } from '../../http2/http2-port.js';
import { Http2Server } from '../../http2/http2-server.js';
import { DEFAULT_KEEPALIVE } from './connection-keepalive.js';
import { listenAt } from '../listen-failure.js';
import type { CallListener, GrpcCall } from './grpc-call.js';
import { isGrpcContentType } from './grpc-connection.js';
import { FLUSH_MILLISECONDS, openGrpcPort } from './grpc-port.js';

const ignore = () => undefined;
const open: OpenHttp2Port = (options) => new Http2Server(options);
const logger = { error: ignore, warn: ignore, info: ignore, verbose: ignore };
const HEADERS = {
  ':method': 'POST',
  ':path': '/test.Service/Method',
  'content-type': 'application/grpc',
  te: 'trailers',
};

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of cleanup.splice(0).reverse()) await close();
});

/** What a call did, as the listener saw it. */
interface Seen {
  readonly call: GrpcCall;
  readonly events: string[];
}

async function serve(onCall: (seen: Seen) => Partial<CallListener> | undefined, keepalive = DEFAULT_KEEPALIVE) {
  const calls: Seen[] = [];
  const transport = openGrpcPort({
    open,
    logger,
    keepalive,
    route: () => (call) => {
      const seen: Seen = { call, events: [] };
      calls.push(seen);
      const listener = onCall(seen);
      if (listener === undefined) return undefined;
      return {
        onData(chunk) {
          seen.events.push(`data ${chunk.length}`);
          listener.onData?.(chunk);
        },
        onNoRoom() {
          listener.onNoRoom?.();
        },
        onEnd() {
          seen.events.push('half-close');
          listener.onEnd?.();
        },
        onClose() {
          seen.events.push('close');
          listener.onClose?.();
        },
      };
    },
  });
  cleanup.push(() => transport.close(FLUSH_MILLISECONDS));
  const port = await transport.listen('127.0.0.1', 0);
  return { transport, port, calls };
}

async function connected(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  cleanup.push(() => session.destroy());
  await once(session, 'connect');
  return session;
}

interface Answer {
  readonly headers: IncomingHttpHeaders | undefined;
  readonly trailers: IncomingHttpHeaders | undefined;
  readonly body: Buffer;
  readonly resetCode: number;
}

function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve) => {
    let headers: IncomingHttpHeaders | undefined;
    let trailers: IncomingHttpHeaders | undefined;
    const body: Buffer[] = [];
    stream.on('response', (received) => (headers = received));
    stream.on('trailers', (received) => (trailers = received));
    stream.on('data', (chunk: Buffer) => body.push(chunk));
    stream.on('error', () => undefined);
    stream.on('close', () =>
      resolve({ headers, trailers, body: Buffer.concat(body), resetCode: stream.rstCode ?? -1 }),
    );
  });
}

function request(session: ClientHttp2Session, headers: object, body?: Buffer): Promise<Answer> {
  const stream = session.request({ ...HEADERS, ...headers });
  const answer = answerOf(stream);
  stream.end(body);
  return answer;
}

describe('an answer', () => {
  it('has headers, the frame, and trailers with the status', async () => {
    const { port } = await serve(({ call }) => ({ onData: () => call.respond([Buffer.from('frame')]) }));
    const answer = await request(await connected(port), {}, Buffer.from('x'));
    expect(Object.entries(answer.headers!)).toEqual([
      [':status', 200],
      ['content-type', 'application/grpc'],
      ['grpc-accept-encoding', 'identity,deflate,gzip'],
    ]);
    expect(answer.body.toString()).toBe('frame');
    expect(answer.trailers).toMatchObject({ 'grpc-status': '0' });
    expect(answer.resetCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it('of several chunks arrives whole', async () => {
    const large = Buffer.alloc(5 << 20, 'tensor');
    const { port } = await serve(({ call }) => ({
      onData: () => call.respond([Buffer.from('head'), large, Buffer.from('tail')]),
    }));
    const { body } = await request(await connected(port), {}, Buffer.from('x'));
    expect(body.equals(Buffer.concat([Buffer.from('head'), large, Buffer.from('tail')]))).toBe(true);
  });

  it('without a message is headers alone', async () => {
    const { port } = await serve(({ call }) => {
      call.fail(5, 'näh', { 'x-more': 'yes' });
      return undefined;
    });
    const answer = await request(await connected(port), {}, Buffer.from('x'));
    expect(answer.headers).toMatchObject({
      ':status': 200,
      'grpc-status': '5',
      'grpc-message': 'n%C3%A4h',
      'x-more': 'yes',
    });
    expect(answer.headers).not.toHaveProperty('date');
    expect(answer.trailers).toBeUndefined();
    expect(answer.body.length).toBe(0);
  });

  it('without a text has no grpc-message', async () => {
    const { port } = await serve(({ call }) => {
      call.fail(12, '');
      return undefined;
    });
    expect((await request(await connected(port), {})).headers).not.toHaveProperty('grpc-message');
  });

  it('with a very long text still arrives', async () => {
    const { port } = await serve(({ call }) => {
      call.fail(13, 'ü'.repeat(1_000_000));
      return undefined;
    });
    const { headers } = await request(await connected(port), {});
    expect(headers!['grpc-status']).toBe('13');
    expect(String(headers!['grpc-message']).endsWith('...')).toBe(true);
  });

  it.each([
    ['respond', (call: GrpcCall) => call.respond([Buffer.from('frame')])],
    ['fail', (call: GrpcCall) => call.fail(3, 'no')],
  ])('by %s ends the stream of a client that does not half-close', async (_, end) => {
    const { port } = await serve(({ call }) => ({ onData: () => end(call) }));
    const stream = (await connected(port)).request(HEADERS, { endStream: false });
    const answer = answerOf(stream);
    stream.write('x');
    const { headers, trailers, resetCode } = await answer;
    expect(trailers?.['grpc-status'] ?? headers?.['grpc-status']).toBeDefined();
    expect(resetCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it('counts once', async () => {
    const { port } = await serve(({ call }) => ({
      onData() {
        call.respond([Buffer.from('first')]);
        call.respond([Buffer.from('second')]);
        call.fail(13, 'third');
      },
    }));
    const answer = await request(await connected(port), {}, Buffer.from('x'));
    expect(answer.body.toString()).toBe('first');
    expect(answer.trailers).toMatchObject({ 'grpc-status': '0' });
  });
});

describe('a call', () => {
  it('is known by its path and headers, and tells what arrives', async () => {
    const { port, calls } = await serve(({ call }) => ({ onEnd: () => call.fail(0, '') }));
    await request(await connected(port), { 'grpc-timeout': '5S', 'x-bin': ['a', 'b'] }, Buffer.alloc(10));
    const { call, events } = calls[0]!;
    expect(call.head.path).toBe('/test.Service/Method');
    expect(call.head.header('grpc-timeout')).toBe('5S');
    expect(call.head.header('x-bin')).toBe('a, b');
    expect(call.head.header('absent')).toBeUndefined();
    expect(events).toEqual(['data 10', 'half-close', 'close']);
  });

  it('hears that the client cancelled, and then nothing more', async () => {
    let cancelled!: () => void;
    const whenCancelled = new Promise<void>((resolve) => (cancelled = resolve));
    let arrived!: () => void;
    const whenArrived = new Promise<void>((resolve) => (arrived = resolve));
    const { port, calls } = await serve(() => ({ onData: () => arrived(), onClose: () => cancelled() }));
    const stream = (await connected(port)).request(HEADERS, { endStream: false });
    stream.on('error', () => undefined);
    stream.write('x');
    await whenArrived;
    stream.close(constants.NGHTTP2_CANCEL);
    await whenCancelled;
    const { events } = calls[0]!;
    expect([events[0], events.at(-1)]).toEqual(['data 1', 'close']);
    calls[0]!.call.respond([Buffer.from('too late')]);
    calls[0]!.call.fail(13, 'too late');
  });

  it('hears that the connection is lost', async () => {
    let cancelled!: () => void;
    const whenCancelled = new Promise<void>((resolve) => (cancelled = resolve));
    const { port, calls } = await serve(() => ({ onClose: () => cancelled() }));
    const session = await connected(port);
    const stream = session.request(HEADERS, { endStream: false });
    stream.on('error', () => undefined);
    stream.write('x');
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    session.destroy();
    await whenCancelled;
  });

  it('hears of its end once', async () => {
    const { port, calls } = await serve(({ call }) => ({ onData: () => call.respond([Buffer.from('x')]) }));
    const session = await connected(port);
    await request(session, {}, Buffer.from('x'));
    session.destroy();
    await once(session, 'close');
    expect(calls[0]!.events.filter((event) => event === 'close')).toHaveLength(1);
  });

  it('may send more than the windows of HTTP/2 begin with', async () => {
    let bytes = 0;
    const { port } = await serve(({ call }) => ({
      onData: (chunk) => void (bytes += chunk.length),
      onEnd: () => call.respond([Buffer.from('thanks')]),
    }));
    const { body } = await request(await connected(port), {}, Buffer.alloc(40 << 20));
    expect(bytes).toBe(40 << 20);
    expect(body.toString()).toBe('thanks');
  });

  it.each([
    [{ 'content-type': 'application/json' }, 415],
    [{ 'content-type': 'application/grpc-web' }, 415],
    [{ ':method': 'PUT' }, 405],
    [{ ':method': 'GET' }, 405],
  ])('is none with %j: HTTP status %i', async (headers, status) => {
    const { port, calls } = await serve(() => ({}));
    const session = await connected(port);
    const stream = session.request({ ...HEADERS, ...headers }, { endStream: false });
    const answer = await answerOf(stream);
    expect(answer.headers).toMatchObject({ ':status': status });
    expect(calls).toEqual([]);
  });

  it('needs no te and no content type', async () => {
    const { port } = await serve(({ call }) => {
      call.fail(0, '');
      return undefined;
    });
    const stream = (await connected(port)).request({ ':method': 'POST', ':path': '/a/b' });
    expect((await answerOf(stream)).headers).toMatchObject({ 'grpc-status': '0' });
  });
});

describe('isGrpcContentType', () => {
  it.each([
    undefined,
    '',
    'application/grpc',
    'application/grpc+proto',
    'application/grpc;charset=utf-8',
    'APPLICATION/GRPC',
  ])('takes %j', (contentType) => expect(isGrpcContentType(contentType)).toBe(true));
  it.each(['application/grpcx', 'application/grpc-web', 'application/json', 'text/plain', 'x application/grpc'])(
    'refuses %j',
    (contentType) => expect(isGrpcContentType(contentType)).toBe(false),
  );
});

describe('a connection', () => {
  it('answers pings', async () => {
    const { port } = await serve(() => ({}));
    const session = await connected(port);
    const payload = Buffer.from('12345678');
    const echoed = await new Promise<Buffer>((resolve, reject) =>
      session.ping(payload, (error, _, bytes) => (error === null ? resolve(bytes) : reject(error))),
    );
    expect(echoed.equals(payload)).toBe(true);
  });

  it('that does not speak HTTP/2 is closed, and others go on', async () => {
    const { port } = await serve(({ call }) => {
      call.fail(0, '');
      return undefined;
    });
    const socket = connectSocket(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
    expect((await request(await connected(port), {})).headers).toMatchObject({ 'grpc-status': '0' });
  });
});

/** Closes, and lets the second pass that answers have to reach their clients. */
async function closedAfterASecond(close: () => readonly Promise<void>[]): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let closed = false;
  const closing = Promise.all(close()).then(() => (closed = true));
  vi.advanceTimersByTime(999);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(closed).toBe(false);
  vi.advanceTimersByTime(1);
  vi.useRealTimers();
  await closing;
}

describe('the end', () => {
  it('lets calls under way finish, refuses new connections, and closes', async () => {
    let arrived!: () => void;
    const whenArrived = new Promise<void>((resolve) => (arrived = resolve));
    const { transport, port, calls } = await serve(() => ({ onData: () => arrived() }));
    const session = await connected(port);
    const idle = await connected(port);
    const stream = session.request(HEADERS);
    const answer = answerOf(stream);
    stream.end('x');
    await whenArrived;
    const goaway = once(session, 'goaway');
    const idleClosed = once(idle, 'close');
    transport.drain();
    await goaway;
    await idleClosed;
    const refused = connectSocket(port, '127.0.0.1');
    await expect(once(refused, 'connect')).rejects.toThrow('ECONNREFUSED');
    const closed = transport.close(FLUSH_MILLISECONDS);
    calls[0]!.call.respond([Buffer.from('done')]);
    expect((await answer).body.toString()).toBe('done');
    await closed;
  });

  it('serves a call that was sent before the client heard of it', async () => {
    const { transport, port, calls } = await serve(({ call }) => ({
      onData: () => call.respond([Buffer.from('served')]),
    }));
    const session = await connected(port);
    transport.drain();
    const settled = transport.settled();
    // Sent in the same turn: GOAWAY cannot have arrived.
    const answer = await request(session, {}, Buffer.from('x'));
    expect(answer.body.toString()).toBe('served');
    expect(calls).toHaveLength(1);
    await settled;
  });

  it('cancels calls that do not end, and is the same for everyone who asks', async () => {
    let arrived!: () => void;
    const whenArrived = new Promise<void>((resolve) => (arrived = resolve));
    const { transport, port, calls } = await serve(() => ({ onData: () => arrived() }));
    const stream = (await connected(port)).request(HEADERS, { endStream: false });
    stream.on('error', () => undefined);
    stream.write('x');
    await whenArrived;
    await closedAfterASecond(() => [transport.close(FLUSH_MILLISECONDS), transport.close(FLUSH_MILLISECONDS)]);
    expect(calls[0]!.events).toContain('close');
    await transport.close(FLUSH_MILLISECONDS);
  });

  it('does not wait for a client that never closes its half of the connection', async () => {
    const { transport, port } = await serve(() => ({}));
    const socket = connectSocket({ port, host: '127.0.0.1', allowHalfOpen: true });
    cleanup.push(() => socket.destroy());
    socket.on('error', () => undefined);
    // The preface and empty settings make a session.
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
    await once(socket, 'data');
    socket.resume();
    await expect(closedAfterASecond(() => [transport.close(FLUSH_MILLISECONDS)])).resolves.toBeUndefined();
  });

  it('comes at once where nothing was ever opened', async () => {
    const transport = openGrpcPort({ open, logger, keepalive: DEFAULT_KEEPALIVE, route: () => () => undefined });
    await expect(transport.close(FLUSH_MILLISECONDS)).resolves.toBeUndefined();
  });

  it('of a port that is taken is UNAVAILABLE, with the address', async () => {
    const { port } = await serve(() => ({}));
    const second = openGrpcPort({ open, logger, keepalive: DEFAULT_KEEPALIVE, route: () => () => undefined });
    await expect(listenAt(second, '127.0.0.1', port)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `Socket '127.0.0.1:${port}' already in use`,
    });
    await second.close(FLUSH_MILLISECONDS);
  });
});
