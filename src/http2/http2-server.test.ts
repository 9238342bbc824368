// Our server and our client over real sockets, with each other and with node:http2.
import { once } from 'node:events';
import {
  connect as connectNode,
  constants,
  createServer as createNodeServer,
  type ClientHttp2Stream,
} from 'node:http2';
import { connect as connectTcp, Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Collector, connectTo, HEAD, OK, startEcho } from '../../test/support/http2-echo.js';
import {
  encodeFrame,
  encodeHeaders,
  FLAG,
  FRAME,
  PREFACE,
  RawHttp2,
  setting,
  uint32,
} from '../../test/support/raw-http2.js';
import { selfSignedCertificate } from '../../test/support/self-signed-certificate.js';
import { stoppedClock } from '../../test/support/standstill.js';
import type { Http2Stream } from './http2-stream.js';
import { ConnectionLimit } from '../sockets/connection-limit.js';
import { HeaderTemplate } from './outgoing-headers.js';

const MEGABYTE = 1 << 20;

function pattern(bytes: number): Buffer {
  const data = Buffer.alloc(bytes);
  for (let i = 0; i + 4 <= bytes; i += 4) data.writeUInt32LE((i * 2654435761) >>> 0, i);
  return data;
}

/** Collects a message into memory of its own, whose length its first four bytes tell. */
class Placed extends Collector {
  readonly #stream: Http2Stream;
  #target: Buffer | undefined;

  constructor(stream: Http2Stream) {
    super();
    this.#stream = stream;
  }

  override onData(chunk: Buffer): void {
    super.onData(chunk);
    const start = Buffer.concat(this.chunks);
    if (this.#target !== undefined || start.length < 4) return;
    this.#target = Buffer.alloc(start.readUInt32BE(0));
    const there = start.copy(this.#target, 0, 4);
    this.#stream.receiveInto(this.#target.subarray(there));
  }

  override onEnd(): void {
    this.#stream.sendMessage(HEAD, [this.#target!], OK);
  }
}

function withLength(data: Buffer): readonly Buffer[] {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return [length, data];
}

/** A server whose clock the test moves, with a client that has sent the beginning of its preface. */
async function startSilent(options: Parameters<typeof startEcho>[0] = {}) {
  const clock = stoppedClock();
  onTestFinished(() => clock.goOn());
  const echo = await startEcho(options);
  const client = await RawHttp2.open(echo.port, PREFACE.subarray(0, 10));
  await expect.poll(() => echo.server.connections).toBe(1);
  return {
    clock,
    client,
    port: echo.port,
    /** The client sends the rest, and a ping; gives its answer. */
    speak() {
      client.sendBytes(PREFACE.subarray(10));
      const settings = [{ type: FRAME.SETTINGS }, { type: FRAME.SETTINGS, flags: FLAG.ACK }];
      client.send(...settings, { type: FRAME.PING, payload: Buffer.alloc(8) });
      return client.frame(({ type, flags }) => type === FRAME.PING && flags === FLAG.ACK);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      client[Symbol.dispose]();
      await echo[Symbol.asyncDispose]();
    },
  };
}

interface NodeAnswer {
  readonly status: number | undefined;
  readonly trailers: string | undefined;
  readonly data: Buffer;
}

async function answerOf(stream: ClientHttp2Stream): Promise<NodeAnswer> {
  let status: number | undefined;
  let trailers: string | undefined;
  const chunks: Buffer[] = [];
  stream.on('response', (headers) => (status = headers[':status']));
  stream.on('trailers', (headers) => (trailers = headers['grpc-status'] as string));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(stream, 'close');
  return { status, trailers, data: Buffer.concat(chunks) };
}

describe('our server and our client', () => {
  it('answer and ask', async () => {
    await using echo = await startEcho();
    using client = connectTo(echo.port);
    const { headers, trailers, data } = await client.call([Buffer.from('hello')]);
    expect(headers).toEqual([':status', '200', 'content-type', 'application/grpc']);
    expect(trailers).toEqual(['grpc-status', '0']);
    expect(data.toString()).toBe('hello');
  });

  it('do so a thousand times at once', async () => {
    await using echo = await startEcho();
    using client = connectTo(echo.port, { options: { maxConcurrentStreams: 1000 } });
    await client.call([]);
    const messages = Array.from({ length: 1000 }, (_, i) => pattern(4 * i));
    const answers = await Promise.all(messages.map((message) => client.call([message])));
    expect(answers.every(({ data }, i) => data.equals(messages[i]!))).toBe(true);
    expect(client.connection.streams.size).toBe(0);
  });

  it('send large messages both ways, in any pieces and in place', async () => {
    await using echo = await startEcho();
    await using placed = await startEcho({ onStream: (stream) => new Placed(stream) });
    const message = pattern(16 * MEGABYTE);
    for (const port of [echo.port, placed.port]) {
      using client = connectTo(port);
      const answers = await Promise.all([
        client.call(withLength(message)),
        client.call(withLength(message.subarray(0, MEGABYTE + 1))),
        client.call(withLength(message.subarray(0, 100_000))),
      ]);
      const skipped = port === echo.port ? 4 : 0;
      expect(answers.map(({ data }) => data.length - skipped)).toEqual([16 * MEGABYTE, MEGABYTE + 1, 100_000]);
      expect(
        answers.every(({ data }) => data.subarray(skipped).equals(message.subarray(0, data.length - skipped))),
      ).toBe(true);
    }
  });

  it('send large messages with the smallest windows and frames', async () => {
    const options = { streamWindow: 1000, connectionWindow: 65_535, maxFrameSize: 16_384 };
    await using echo = await startEcho({ connection: options });
    using client = connectTo(echo.port, { options });
    const message = pattern(300_000);
    const answers = await Promise.all([1, 2, 3].map(() => client.call([message])));
    expect(answers.every(({ data }) => data.equals(message))).toBe(true);
  });

  it('speak TLS, when the client asks for h2', async () => {
    const { cert, key } = selfSignedCertificate();
    const failures: string[] = [];
    await using echo = await startEcho({
      tls: { cert, key },
      onHandshakeError: (error) => failures.push(error.message),
    });
    using client = connectTo(echo.port, { tls: { ca: cert } });
    const message = pattern(3 * MEGABYTE);
    expect((await client.call([message])).data.equals(message)).toBe(true);
    expect((client.socket as { alpnProtocol?: string }).alpnProtocol).toBe('h2');

    for (const protocols of [{ ALPNProtocols: ['http/1.1'] }, {}]) {
      const other = connectTls({ host: '127.0.0.1', port: echo.port, ca: cert, ...protocols }).resume();
      other.on('error', () => undefined);
      await new Promise((resolve) => other.once('close', resolve));
    }
    await expect.poll(() => failures.at(-1)).toBe('the client did not ask for the protocol h2');
  });

  it('tell when no connection can be made', async () => {
    const { cert, key } = selfSignedCertificate();
    await using secure = await startEcho({ tls: { cert, key } });
    using refused = connectTo(1);
    using untrusted = connectTo(secure.port, { tls: {} });
    const call = refused.call([]);
    await expect(call).rejects.toMatchObject({
      code: 'CONNECTION_LOST',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
    expect(await refused.closed).toMatchObject({ code: 'CONNECTION_LOST' });
    expect(await untrusted.closed).toMatchObject({ message: expect.stringContaining('self-signed') as string });
  });
});

describe('our server', () => {
  it('serves a client of node:http2', async () => {
    await using echo = await startEcho();
    const session = connectNode(`http://127.0.0.1:${echo.port}`);
    const message = pattern(2 * MEGABYTE);
    const answers = await Promise.all(
      [0, 1, 1000, message.length].map((length) => {
        const stream = session.request({ ':method': 'POST', ':path': '/p', 'content-length': length });
        stream.end(message.subarray(0, length));
        return answerOf(stream);
      }),
    );
    expect(answers.map(({ status, trailers }) => [status, trailers])).toEqual(Array(4).fill([200, '0']));
    expect(answers.every(({ data }) => data.equals(message.subarray(0, data.length)))).toBe(true);
    expect(answers.map(({ data }) => data.length)).toEqual([0, 1, 1000, message.length]);
    const pinged = new Promise((resolve) => session.ping((_, __, payload) => resolve(payload.length)));
    expect(await pinged).toBe(8);
    session.close();
    await once(session, 'close');
    await expect.poll(() => echo.server.connections).toBe(0);
    expect(echo.events).toEqual(['closed in order']);
  });

  it('hears of streams that are cancelled, and of clients that are gone', async () => {
    const events: string[] = [];
    await using echo = await startEcho({
      onStream: ({ id }) => {
        events.push(`${id} began`);
        return {
          onData: () => undefined,
          onEnd: () => undefined,
          onClose: (error) => void events.push(`${id} ${error?.code}`),
        };
      },
    });
    const session = connectNode(`http://127.0.0.1:${echo.port}`);
    session.on('error', () => undefined);
    const request = () => {
      const stream = session.request({ ':method': 'POST', ':path': '/p' });
      stream.on('error', () => undefined);
      stream.write('x');
      return stream;
    };
    const cancelled = request();
    await expect.poll(() => events).toEqual(['1 began']);
    cancelled.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => events).toEqual(['1 began', '1 CANCEL']);
    request();
    await expect.poll(() => events).toHaveLength(3);
    session.destroy();
    await expect.poll(() => events.at(-1)).toMatch(/^3 C/);
  });

  it('lets a slow reader wait, and serves others meanwhile', async () => {
    const size = 64 * MEGABYTE;
    let large: Http2Stream | undefined;
    await using echo = await startEcho({
      onStream: (stream, headers) => ({
        onData: () => undefined,
        onEnd: () => {
          const isLarge = headers.get(':path') === '/large';
          if (isLarge) large = stream;
          stream.sendMessage(HEAD, [Buffer.alloc(isLarge ? size : 10)], OK);
        },
      }),
    });
    const slow = connectTcp(echo.port, '127.0.0.1');
    await once(slow, 'connect');
    slow.write(
      Buffer.concat([
        PREFACE,
        encodeFrame({ type: FRAME.SETTINGS, payload: setting(4, size) }),
        encodeFrame({ type: FRAME.WINDOW_UPDATE, payload: uint32(size) }),
        encodeFrame({
          type: FRAME.HEADERS,
          flags: FLAG.END_HEADERS | FLAG.END_STREAM,
          stream: 1,
          payload: encodeHeaders([
            [':method', 'POST'],
            [':scheme', 'http'],
            [':path', '/large'],
          ]),
        }),
      ]),
    );
    using client = connectTo(echo.port);
    await expect.poll(() => large).toBeDefined();
    expect((await client.call([])).data).toHaveLength(10);
    expect(large!.queuedBytes).toBeGreaterThan(size / 4);
    expect(large!.isClosed).toBe(false);
    let bytes = 0;
    slow.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await expect.poll(() => bytes).toBeGreaterThan(size);
    await expect.poll(() => large!.isClosed).toBe(true);
    slow.destroy();
  });

  it.each(['GET / HTTP/1.1\r\nHost: h\r\n\r\n', 'x'])('closes a connection that begins with %j', async (text) => {
    await using echo = await startEcho();
    using client = await RawHttp2.open(echo.port, Buffer.from(text));
    await client.closed();
    expect(client.frames.map(({ type }) => type)).toEqual([FRAME.SETTINGS, FRAME.WINDOW_UPDATE, FRAME.GOAWAY]);
    expect(echo.events).toEqual(['closed PROTOCOL_ERROR']);
  });

  it('ends with a client that closes its half of the connection', async () => {
    await using echo = await startEcho();
    const socket: Socket = connectTcp({ port: echo.port, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    socket.end('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
    socket.resume();
    await once(socket, 'end');
    await expect.poll(() => echo.server.connections).toBe(0);
    socket.destroy();
  });

  it('ends a connection that says nothing', async () => {
    await using echo = await startEcho({ connection: { handshakeTimeout: 1 } });
    const socket = connectTcp(echo.port, '127.0.0.1').resume();
    await once(socket, 'close');
    expect(echo.events).toEqual(['closed PROTOCOL_ERROR']);
  });

  it('does not count against a client that it has stood still itself', async () => {
    await using tested = await startSilent();
    await tested.clock.standstill();
    expect(await tested.speak()).toBeDefined();
  });

  it('gives nobody the place of a client that was silent while it stood still itself', async () => {
    await using tested = await startSilent({ limit: new ConnectionLimit(1) });
    await tested.clock.standstill();
    using other = connectTo(tested.port);
    // It is refused.
    await other.closed;
    expect(await tested.speak()).toBeDefined();
  });

  it('gives the place of a client that is silent for more than a second to another one', async () => {
    await using tested = await startSilent({ limit: new ConnectionLimit(1) });
    await tested.clock.pass(2);
    using other = connectTo(tested.port);
    await other.call([]);
    expect(await tested.client.closed()).toBeUndefined();
  });

  it('drains: what was begun is answered, new connections are not taken, and it closes', async () => {
    const held: Http2Stream[] = [];
    await using echo = await startEcho({
      onStream: (stream) => ({ onData: () => undefined, onEnd: () => void held.push(stream) }),
    });
    using client = connectTo(echo.port);
    const answer = client.call([]);
    await expect.poll(() => held).toHaveLength(1);
    const closed = echo.server.close(60_000);
    await expect.poll(() => client.connection.takesStreams).toBe(false);
    // While connections come that the system has taken, the port stays open: they are closed in order.
    let taken = 0;
    const connectLate = async () => {
      using late = connectTo(echo.port);
      const error = await late.closed;
      if (error === undefined) taken++;
      return error?.code;
    };
    await expect.poll(connectLate).toBe('CONNECTION_LOST');
    held[0]!.sendMessage(HEAD, [Buffer.from('done')], OK);
    expect((await answer).data.toString()).toBe('done');
    expect(await client.closed).toBeUndefined();
    await closed;
    expect(echo.events).toEqual(Array.from({ length: 1 + taken }, () => 'closed in order'));
  });

  it('closes what is left after the time it was given', async () => {
    await using echo = await startEcho({ onStream: () => ({ onData: () => undefined, onEnd: () => undefined }) });
    using client = connectTo(echo.port);
    const results = Promise.allSettled([client.call([])]);
    await expect.poll(() => echo.server.connections).toBe(1);
    await echo.server.close(0);
    expect(await results).toMatchObject([{ status: 'rejected' }]);
  });

  it('goes on when there is no room for one more socket', async () => {
    const errors: string[] = [];
    await using echo = await startEcho({ onError: (error) => errors.push(error.message) });
    const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): readonly object[] };
    const servers = handles.call(process).filter((handle) => handle instanceof NetServer);
    // Another test's may be closing.
    const listener = servers.find((server) => (server.address() as AddressInfo | null)?.port === echo.port)!;
    listener.emit('error', new Error('accept EMFILE'));
    expect(errors).toEqual(['accept EMFILE']);
    using client = connectTo(echo.port);
    expect((await client.call([Buffer.from('x')])).data.toString()).toBe('x');
  });

  it('ends a handshake of TLS that says nothing', async () => {
    const { cert, key } = selfSignedCertificate();
    const errors: string[] = [];
    await using echo = await startEcho({
      tls: { cert, key },
      connection: { handshakeTimeout: 1 },
      onHandshakeError: (error) => errors.push(error.message),
    });
    const socket = connectTcp(echo.port, '127.0.0.1').resume();
    await once(socket, 'close');
    expect(errors).toEqual([expect.stringContaining('handshake timeout')]);
  });

  it('rejects an address that is in use', async () => {
    await using echo = await startEcho();
    const { Http2Server } = await import('./http2-server.js');
    const second = new Http2Server({ listen: () => ({}) });
    await expect(second.listen('127.0.0.1', echo.port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await second.close(0);
  });
});

describe('our client', () => {
  it('asks a server of node:http2', async () => {
    const node = createNodeServer();
    node.on('stream', (stream) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        stream.additionalHeaders({ ':status': 103 });
        stream.respond({ ':status': 200, 'x-count': chunks.length }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(Buffer.concat(chunks));
      });
    });
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
    using client = connectTo((node.address() as AddressInfo).port);
    const message = pattern(2 * MEGABYTE);
    const streams = await Promise.all(
      [0, 5, message.length].map((length) => client.call([message.subarray(0, length)])),
    );
    expect(streams.map(({ data }) => data.length)).toEqual([0, 5, message.length]);
    expect(streams[2]!.data.equals(message)).toBe(true);
    client.connection.drain();
    expect(await client.closed).toBeUndefined();
    await new Promise((resolve) => node.close(resolve));
  });

  it('learns of a server that ends: which calls were not processed', async () => {
    const node = createNodeServer();
    node.on('session', (session) => session.on('error', () => undefined));
    node.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      if (headers[':path'] === '/p') return;
      stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id! - 2);
    });
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
    using client = connectTo((node.address() as AddressInfo).port);
    const path = (text: string) =>
      new HeaderTemplate([':method', 'POST', ':scheme', 'http', ':path', text, ':authority', 'h']);
    const results = Promise.allSettled([client.call([], path('/p')), client.call([], path('/q'))]);
    await expect.poll(() => client.connection.streams.size).toBe(1);
    client.socket.destroy();
    expect(await results).toMatchObject([
      { reason: { code: 'CONNECTION_LOST' } },
      { reason: { code: 'REFUSED_STREAM' } },
    ]);
    await new Promise((resolve) => node.close(resolve));
  });
});
