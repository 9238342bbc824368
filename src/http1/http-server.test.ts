import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';

import { afterEach, describe, expect, it } from 'vitest';

import { selfSignedCertificate } from '../../test/support/self-signed-certificate.js';
import { slowHandshake, stoppedClock } from '../../test/support/standstill.js';
import type { HttpExchange, ServeRequest } from './http-exchange.js';
import { HttpServer, type HttpServerOptions } from './http-server.js';

const GET = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';
const CLOSE = 'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function listen(serve: ServeRequest, options: Partial<HttpServerOptions> = {}) {
  const server = new HttpServer({ serve, onError: (error) => expect.unreachable(error.message), ...options });
  open.push(server);
  return { server, port: await server.listen('127.0.0.1', 0) };
}

function client(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  open.push({ close: () => socket.destroy() });
  return socket;
}

function respond(answer: HttpExchange, body: Uint8Array = Buffer.alloc(0)): void {
  answer.respond(200, ['Content-Length', String(body.length)], [body]);
}

/** Gives back what it is sent. */
function echo(exchange: HttpExchange): void {
  exchange.receiveBody({
    limit: Infinity,
    alignedAt: 0,
    onBody: (body) => respond(exchange, body),
  });
}

function post(body: Buffer, headers = ''): Buffer {
  const head = `POST / HTTP/1.1\r\nHost: h\r\n${headers}Content-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

const LARGE = Buffer.from(Uint32Array.from({ length: 2_000_000 }, (_, i) => i).buffer);
const certificate = selfSignedCertificate();

describe('a server', () => {
  it.each([false, true])('gives back large and small bodies, with TLS: %s', async (isSecure) => {
    const { port } = await listen(echo, isSecure ? { tls: certificate } : {});
    const socket = isSecure ? connectTls({ port, host: '127.0.0.1', ca: certificate.cert }) : client(port);
    open.push({ close: () => socket.destroy() });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write(Buffer.concat([post(LARGE), post(Buffer.from('small')), post(LARGE, 'Connection: close\r\n')]));
    await once(socket, 'end');
    const received = Buffer.concat(chunks);
    const bodies: Buffer[] = [];
    for (let at = 0; at < received.length;) {
      const start = received.indexOf('\r\n\r\n', at) + 4;
      const length = Number(/Content-Length: ([0-9]+)/.exec(received.toString('latin1', at, start))![1]);
      at = start + length;
      bodies.push(received.subarray(start, at));
    }
    expect(bodies.map((body, i) => body.equals(i === 1 ? Buffer.from('small') : LARGE))).toEqual([true, true, true]);
  });

  it('speaks TLS to those who speak it, and says why it does not to others', async () => {
    const errors: string[] = [];
    const { server, port } = await listen(echo, {
      tls: certificate,
      onHandshakeError: (error) => errors.push(error.message),
    });
    const plain = client(port);
    plain.resume().write(GET);
    await once(plain, 'close');
    expect([errors.length, server.connections]).toEqual([1, 0]);
  });

  it('answers a client that has closed its sending half with what is there, and closes', async () => {
    const { port } = await listen((answer) => respond(answer, LARGE));
    const socket = client(port);
    socket.end(GET);
    const received = await text(socket);
    expect(received.length).toBeGreaterThan(LARGE.length / 2);
  });

  it('lets a client that is told that its request is refused read that, though it sends on', async () => {
    const { port } = await listen(echo);
    const socket = client(port);
    socket.write('hello\r\n\r\n');
    socket.write(Buffer.alloc(1_000_000, 'x'));
    expect(await text(socket)).toContain('HTTP/1.1 400 Bad Request');
  });

  it('does not wait for ever for a client to close its side', async () => {
    const { server, port } = await listen((answer) => respond(answer));
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    open.push({ close: () => socket.destroy() });
    socket.resume().write(CLOSE);
    await once(socket, 'end');
    await expect.poll(() => server.connections).toBe(0);
  });

  it('ends connections that are idle when it drains, and the others after their answers', async () => {
    const answers: HttpExchange[] = [];
    const { server, port } = await listen((answer) => void answers.push(answer));
    const [busy, idle] = [client(port), client(port)];
    busy.write(GET);
    await expect.poll(() => [answers.length, server.connections]).toEqual([1, 2]);
    server.drain();
    expect(await text(idle)).toBe('');
    respond(answers[0]!);
    expect(await text(busy)).toContain('Connection: close');
    await server.close();
    expect(server.connections).toBe(0);
  });

  it('waits a little for the first request of a client that has just connected when it drains', async () => {
    const { server, port } = await listen((answer) => respond(answer, Buffer.from('served')));
    const socket = client(port);
    await expect.poll(() => server.connections).toBe(1);
    server.drain();
    expect([server.underWay, server.awaited]).toEqual([0, 1]);
    let isSettled = false;
    const settled = server.settled().then(() => (isSettled = true));
    await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
    expect(isSettled).toBe(false);
    socket.write(GET);
    expect(await text(socket)).toMatch(/Connection: close[^]*served$/);
    await settled;
  });

  it('answers a request that came while its thread stood still until the end of that wait', async () => {
    const { server, port } = await listen((answer) => respond(answer, Buffer.from('served')));
    const socket = client(port);
    await expect.poll(() => server.connections).toBe(1);
    server.drain();
    // Timers are next.
    setImmediate(() => {
      socket.write(GET);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    });
    expect(await text(socket)).toMatch(/Connection: close[^]*served$/);
  });

  it('serves a request that has come to an idle connection and was not read when it drains', async () => {
    const { server, port } = await listen((answer) => respond(answer, Buffer.from('served')));
    const socket = client(port);
    socket.write(GET);
    await once(socket, 'data');
    // The server shares this thread: it reads the request only after it is told to drain.
    await new Promise<void>((resolve) => socket.write(GET, () => resolve()));
    server.drain();
    expect(await text(socket)).toMatch(/Connection: close[^]*served$/);
  });

  it('answers who connects in a long turn of the event loop while its port closes', async () => {
    const { server, port } = await listen((answer) => respond(answer));
    const asked = new Promise<Socket>((resolve) => {
      const ask = () => {
        const socket = client(port);
        socket.write(GET);
        process.nextTick(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20));
        resolve(socket);
      };
      // Just before the port would close.
      setImmediate(() => setImmediate(ask));
    });
    server.drain();
    expect(await text(await asked)).toMatch(/^HTTP\/1.1 200 /);
  });

  it('takes no connections when it is settled', async () => {
    const { server, port } = await listen((answer) => respond(answer));
    server.drain();
    await server.settled();
    const [error] = (await once(client(port), 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
  });
});

describe('a thread that stood still for ten minutes', () => {
  it('does not count that against its clients', async () => {
    const clock = stoppedClock();
    open.push({ close: () => clock.goOn() });
    let begun = 0;
    const serve: ServeRequest = (exchange) => (begun++, echo(exchange));
    const { server, port } = await listen(serve);
    const { server: secureServer, port: securePort } = await listen(serve, { tls: certificate });
    const [silent, head, body] = [client(port), client(port), client(port)];
    head.write('POST / HTT');
    body.write(post(Buffer.from('12345')).subarray(0, -1));
    const { socket: secure, go } = slowHandshake(securePort);
    open.push({ close: () => secure.destroy() });
    const waiting = once(secure, 'waiting');
    await expect.poll(() => [begun, server.connections, secureServer.connections]).toEqual([1, 3, 0]);
    await waiting;
    await clock.standstill();
    silent.write(post(Buffer.from('12345')));
    head.write('P/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345');
    body.write('5');
    go();
    secure.write(post(Buffer.from('12345')));
    for (const socket of [silent, head, body, secure]) {
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1.1 200 [^]*12345$/);
    }
  });
});

describe('a client that does not take its answers', () => {
  const PART = Buffer.alloc(100_000);

  it('is not read any more, keeps no other waiting, and gets all of them in the end', async () => {
    const COUNT = 2000;
    let served = 0;
    const { port } = await listen((answer) => (served++, respond(answer, PART)));
    const slow = client(port).pause();
    for (let i = 0; i < COUNT; i++) slow.write(GET);
    const other = client(port);
    for (let before = -1; before < served;) {
      before = served;
      // Sent behind all that, and answered: the server has had the time to read on.
      for (let i = 0; i < 20; i++) {
        other.write(GET);
        let got = 0;
        while (got < PART.length) got += ((await once(other, 'data')) as [Buffer])[0].length;
        served--;
      }
    }
    expect(served).toBeLessThan(COUNT / 2);
    let received = 0;
    slow.on('data', (chunk: Buffer) => (received += chunk.length)).resume();
    await expect.poll(() => received, { timeout: 30_000 }).toBeGreaterThan(COUNT * PART.length);
    expect(served).toBe(COUNT);
  });

  it('is sent no more of a stream than it takes', async () => {
    let sent = 0;
    const { port } = await listen((answer) => {
      answer.begin(200, []);
      void (async () => {
        while (!answer.aborted) {
          sent++;
          // oxlint-disable-next-line no-await-in-loop -- one after the other
          await answer.send(PART);
        }
      })();
    });
    const slow = client(port).pause();
    slow.write(GET);
    await expect.poll(() => sent).toBeGreaterThan(5);
    for (let before = -1; before < sent;) {
      before = sent;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(sent).toBeLessThan(1000);
    slow.destroy();
  });
});
