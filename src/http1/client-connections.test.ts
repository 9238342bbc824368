// A connection takes another request only where nobody can doubt that the answer before it is over. The server is a socket that a
// test plays, so that every byte is its own.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { selfSignedCertificate } from '../../test/support/self-signed-certificate.js';
import type { ClientConnection, ClientRequest, Failure, Requester } from './client-connection.js';
import { ClientConnections } from './client-connections.js';
import type { ResponseHead } from './response-head.js';

const HEAD = 'POST / HTTP/1.1\r\nHost: h\r\n';
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const one of open.splice(0).reverse()) await one.close();
});

interface Played {
  readonly port: number;
  readonly sockets: Socket[];
}

async function play(onConnection: (socket: Socket) => void, server = createServer()): Promise<Played> {
  const sockets: Socket[] = [];
  server.on(server.listenerCount('secureConnection') > 0 ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** A server that answers each read with the next of `answers`, and then with the last. */
function playAnswers(...answers: readonly string[]): Promise<Played> {
  let next = 0;
  return play((socket) =>
    socket.on('data', () => {
      socket.write(answers[Math.min(next++, answers.length - 1)]!);
    }),
  );
}

function connect(port: number, options: object = {}): ClientConnections {
  const connections = new ClientConnections({
    host: '127.0.0.1',
    port,
    maxIdle: 10,
    idleMilliseconds: 60_000,
    ...options,
  });
  open.push({ close: () => connections.close() });
  return connections;
}

/** Sends a request and gathers its answer. */
class Asked implements Requester {
  readonly connection: ClientConnection;
  readonly done: Promise<void>;
  head: ResponseHead | undefined;
  body = '';
  failure: Failure | undefined;
  #finish!: () => void;

  constructor(connections: ClientConnections, request: readonly Uint8Array[] | ClientRequest = []) {
    this.done = new Promise((resolve) => (this.#finish = resolve));
    this.connection = connections.take();
    this.connection.send('head' in request ? request : requestOf(request), this);
  }

  onHead(head: ResponseHead): void {
    this.head = head;
  }

  onData(bytes: Buffer, start: number, end: number): void {
    this.body += bytes.toString('latin1', start, end);
  }

  onEnd(): void {
    this.#finish();
  }

  onFailure(failure: Failure): void {
    this.failure = failure;
    this.#finish();
  }
}

/** A failed comparison of bodies would be megabytes long. */
function inShort(request: string): string {
  const headEnd = request.indexOf('\r\n\r\n');
  const digest = createHash('sha1').update(request, 'latin1').digest('hex');
  return `${request.slice(0, headEnd).replaceAll(/(.)\1{9,}/g, '$1…')} ${request.length} ${digest}`;
}

function requestOf(body: readonly Uint8Array[]): ClientRequest {
  const length = body.reduce((sum, part) => sum + part.length, 0);
  return { head: `${HEAD}Content-Length: ${length}\r\n\r\n`, body };
}

async function ask(connections: ClientConnections, body: readonly Uint8Array[] = []): Promise<Asked> {
  const asked = new Asked(connections, body);
  await asked.done;
  return asked;
}

describe('the connections of a client', () => {
  it('are used again, the last one first', async () => {
    const { port, sockets } = await playAnswers(ANSWER);
    const connections = connect(port);
    const [first, second] = [new Asked(connections), new Asked(connections)];
    await first.done;
    await second.done;
    for (let i = 0; i < 3; i++) {
      const third = await ask(connections);
      expect(third.connection).toBe(second.connection);
      expect([third.head!.status, third.body]).toEqual([200, 'ok']);
    }
    expect(sockets).toHaveLength(2);
  });

  // The failure story: a Starlette server answers a failed request, writes the traceback to its log, and closes the connection without
  // having announced it. The next request, sent at once, was lost.
  it('rest for a moment when the server has failed, unless it says that it keeps them', async () => {
    const failed = ANSWER.replace('200 OK', '500 Internal Server Error');
    const { port } = await playAnswers(failed);
    const connections = connect(port);
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const first = await ask(connections);
    expect((await ask(connections)).connection).not.toBe(first.connection);
    expect(connections.hasIdle).toBe(false);
    vi.runAllTimers();
    vi.useRealTimers();
    const again = await Promise.all([ask(connections), ask(connections)]);
    expect(again.map(({ connection }) => connection)).toContain(first.connection);

    const keeping = await playAnswers(failed.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=60\r\n\r\n'));
    const kept = connect(keeping.port);
    expect((await ask(kept)).connection).toBe((await ask(kept)).connection);
  });

  it('send head and small body as one write', async () => {
    const reads: number[] = [];
    const { port } = await play((socket) =>
      socket.on('data', (chunk: Buffer) => {
        reads.push(chunk.length);
        socket.write(ANSWER);
      }),
    );
    await ask(connect(port), [Buffer.from('ab'), Buffer.from('cd')]);
    expect(reads).toEqual([`${HEAD}Content-Length: 4\r\n\r\nabcd`.length]);
  });

  it.each([false, true])('keep requests apart that begin at once, with TLS: %s', async (isSecure) => {
    const certificate = selfSignedCertificate();
    const received: string[] = [];
    const { port } = await play(
      (socket) => {
        const place = received.push('') - 1;
        socket.on('data', (chunk: Buffer) => {
          received[place] += chunk.toString('latin1');
          if (received[place]!.endsWith('end')) socket.write(ANSWER);
        });
      },
      isSecure ? createTlsServer(certificate).on('secureConnection', () => undefined) : undefined,
    );
    const connections = connect(port, isSecure ? { tls: () => ({ ca: certificate.cert }) } : {});
    // Small ones, and those whose bodies are referred to and not copied.
    const sizes = [20_000, 1, 40_000, 16_384, 16_385, 70_000, 300_000, 2_000_000, 3];
    for (let round = 0; round < 3; round++) {
      const requests = sizes.map((size, i) => {
        const head = `${HEAD}X-Request: ${round} ${String(i).repeat(100 * i + 1)}\r\nContent-Length: ${size + 3}\r\n\r\n`;
        return { head, body: [Buffer.alloc(size, `${round}${i}`), Buffer.from('end')] };
      });
      const asked = requests.map((request) => new Asked(connections, request));
      for (const { done } of asked) await done;
      expect(asked.map(({ body }) => body)).toEqual(sizes.map(() => 'ok'));
      const expected = requests.map(({ head, body }) => head + Buffer.concat(body).toString('latin1'));
      expect(received.map(inShort).toSorted()).toEqual(expected.map(inShort).toSorted());
      received.fill('');
      // In the second round connections are kept, in the third they are made anew.
      if (round === 1) connections.closeIdle();
      if (round === 1) received.length = 0;
    }
  });

  it.each<[string, string]>([
    ['that has more behind it', `${ANSWER}HTTP/1.1 200 OK\r\n`],
    ['that says that the server closes', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    [
      'that says that it is kept for a second',
      'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok',
    ],
  ])('are closed after an answer %s', async (_, answer) => {
    const { port, sockets } = await playAnswers(answer);
    const connections = connect(port);
    for (let i = 0; i < 3; i++) expect((await ask(connections)).body).toBe('ok');
    expect(sockets).toHaveLength(3);
    expect(connections.hasIdle).toBe(false);
  });

  it('take the end of the connection for the end of an answer that has no other', async () => {
    const { port } = await play((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nX: y\r\n\r\nto the end')),
    );
    const connections = connect(port);
    for (let i = 0; i < 2; i++) expect(await ask(connections)).toMatchObject({ body: 'to the end' });
  });

  it('are closed when the answer comes before the request is sent', async () => {
    const { port, sockets } = await play((socket) => {
      socket.pause();
      socket.write(ANSWER);
    });
    const connections = connect(port);
    expect((await ask(connections, [Buffer.alloc(30_000_000)])).body).toBe('ok');
    expect(connections.hasIdle).toBe(false);
    expect(sockets).toHaveLength(1);
  });

  it('are closed when something comes that nobody asked for', async () => {
    const { port, sockets } = await playAnswers(ANSWER);
    const connections = connect(port);
    const { connection } = await ask(connections);
    sockets[0]!.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison');
    await once(connection.socket, 'close');
    expect((await ask(connections)).body).toBe('ok');
    expect(sockets).toHaveLength(2);
  });

  it('are kept up to a number, and for a time', async () => {
    const { port } = await playAnswers(ANSWER);
    const connections = connect(port, { maxIdle: 2, idleMilliseconds: 5000 });
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const asked = Array.from({ length: 4 }, () => new Asked(connections));
    for (const { done } of asked) await done;
    expect(asked.filter(({ connection }) => !connection.socket.destroyed)).toHaveLength(2);
    vi.advanceTimersByTime(4500);
    const kept = await ask(connections);
    expect(asked.map(({ connection }) => connection)).toContain(kept.connection);
    vi.advanceTimersByTime(1500);
    expect(asked.filter(({ connection }) => !connection.socket.destroyed)).toHaveLength(1);
    vi.advanceTimersByTime(5000);
    expect(asked.filter(({ connection }) => !connection.socket.destroyed)).toHaveLength(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leave nothing of a request that cannot be sent to the next one', async () => {
    const requests: string[] = [];
    const { port } = await play((socket) =>
      socket.on('data', (chunk: Buffer) => {
        requests.push(chunk.toString('latin1'));
        socket.write(ANSWER);
      }),
    );
    const connections = connect(port);
    await ask(connections);
    const given = new Uint8Array(8);
    structuredClone(given, { transfer: [given.buffer] });
    expect(() => new Asked(connections, [Buffer.from('secret'), given])).toThrow('given away');
    expect(connections.hasIdle).toBe(false);
    expect((await ask(connections, [Buffer.from('ab')])).body).toBe('ok');
    expect(requests).toEqual([`${HEAD}Content-Length: 0\r\n\r\n`, `${HEAD}Content-Length: 2\r\n\r\nab`]);
  });

  it('read nothing while they are paused', async () => {
    const { port } = await play((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n');
        socket.write(Buffer.alloc(100_000_000));
      }),
    );
    const connections = connect(port);
    const asked = new Asked(connections);
    const begun = new Promise<void>((resolve) => {
      asked.onHead = () => {
        asked.connection.pause();
        resolve();
      };
    });
    let received = 0;
    asked.onData = (_bytes, start, end) => (received += end - start);
    await begun;
    const before = received;
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(received).toBe(before);
    asked.connection.resume();
    await asked.done;
    expect(received).toBe(100_000_000);
  });

  it('tell why there is no answer', async () => {
    const { port } = await playAnswers('garbage');
    expect((await ask(connect(port))).failure).toMatchObject({ kind: 'fault' });
    const closing = await play((socket) => socket.once('data', () => socket.end()));
    expect((await ask(connect(closing.port))).failure).toEqual({ kind: 'lost', error: undefined });
    const resetting = await play((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect((await ask(connect(resetting.port))).failure).toMatchObject({ error: { code: 'ECONNRESET' } });
    expect((await ask(connect(1))).failure).toMatchObject({ error: { code: 'ECONNREFUSED' } });
  });

  it('shorten the handshake of TLS with that of another', async () => {
    const certificate = selfSignedCertificate();
    const reused: boolean[] = [];
    const { port } = await play(
      (socket) => {
        reused.push((socket as TLSSocket).isSessionReused());
        socket.on('data', () => socket.write(ANSWER.replace('Content', 'Connection: close\r\nContent')));
      },
      createTlsServer(certificate).on('secureConnection', () => undefined),
    );
    let trusted = { ca: certificate.cert };
    const connections = connect(port, { tls: () => trusted });
    for (let i = 0; i < 2; i++) expect((await ask(connections)).body).toBe('ok');
    expect(reused).toEqual([false, true]);
    // Other certificates are to be seen, and shown, in a whole handshake.
    trusted = { ca: certificate.cert + selfSignedCertificate().cert };
    for (let i = 0; i < 2; i++) expect((await ask(connections)).body).toBe('ok');
    expect(reused.slice(2)).toEqual([false, true]);
    // Who trusts nobody has no session of those who do.
    const wary = connect(port, { tls: () => ({}) });
    for (let i = 0; i < 2; i++)
      expect((await ask(wary)).failure).toMatchObject({ error: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
  });

  it('are all closed in the end, and keep no process alive before', async () => {
    const { port } = await playAnswers(ANSWER);
    const connections = connect(port);
    const { connection } = await ask(connections);
    const silent = await play(() => undefined);
    const others = connect(silent.port);
    const asked = new Asked(others);
    await others.close();
    await asked.done;
    expect(asked.failure).toMatchObject({ kind: 'lost' });
    await connections.close();
    expect(connection.socket.destroyed).toBe(true);
  });
});
