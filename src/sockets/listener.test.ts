// Ports, and clients that come, or are gone, before they were looked at. They are of another thread, so that this one does not run
// meanwhile.

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import tls, { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { selfSignedCertificate } from '../../test/support/self-signed-certificate.js';
import { WAIT_MILLISECONDS } from '../../test/support/waiting.js';
import { type Admission, ConnectionLimit, type LimitedConnection } from './connection-limit.js';
import { type ListenedConnection, Listener } from './listener.js';
import type { ByteSink } from './socket-reader.js';

const SOMAXCONN = '/proc/sys/net/core/somaxconn';
const ADDRESS = '127.0.0.1';
const ignore = () => undefined;

class CountedLimit extends ConnectionLimit {
  readonly held = new Set<LimitedConnection>();

  override add(connection: LimitedConnection, address: string, admission: Admission): void {
    this.held.add(connection);
    super.add(connection, address, admission);
  }

  override remove(connection: LimitedConnection): void {
    this.held.delete(connection);
    super.remove(connection);
  }
}

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of cleanup.splice(0).reverse()) await close();
});

function connection(read: (sink: ByteSink) => Socket): ListenedConnection {
  const socket = read({ received: ignore, directTarget: ignore });
  socket.on('error', ignore);
  return {
    socket,
    tick: ignore,
    retire: ignore,
    drain: () => void socket.end(),
    isUnderWay: false,
    unreadBytes: 0,
    idleFor: 0,
    hasServed: false,
    closeIdle: () => void socket.destroy(),
  };
}

async function secure() {
  const { cert, key } = selfSignedCertificate();
  const limit = new CountedLimit(100);
  const opened: ListenedConnection[] = [];
  const listener = new Listener({
    tls: { cert, key },
    limit,
    connect(read) {
      const one = connection(read);
      opened.push(one);
      return one;
    },
  });
  cleanup.push(() => listener.close(0));
  return { port: await listener.listen(ADDRESS, 0), limit, opened, cert };
}

/** Runs `code` in another thread while this one stands still. */
async function meanwhile(code: string, port: number, when: 'at once' | 'when ready' = 'at once'): Promise<void> {
  const done = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(
    `const { done, port } = require('node:worker_threads').workerData;
    const { connect } = require('node:net');
    const tls = require('node:tls');
    const over = () => { Atomics.store(done, 0, 1); Atomics.notify(done, 0); };
    ${code}`,
    { eval: true, workerData: { done, port } },
  );
  const exited = once(worker, 'exit');
  if (when === 'when ready') await once(worker, 'message');
  Atomics.store(done, 1, 1);
  Atomics.notify(done, 1);
  Atomics.wait(done, 0, 0);
  await exited;
}

const RESET_UNSEEN = `
  let left = 20;
  for (let i = 0; i < 20; i++) {
    const socket = connect(port, '127.0.0.1', () => socket.resetAndDestroy());
    socket.on('error', () => undefined);
    socket.on('close', () => { if (--left === 0) over(); });
  }`;

it('keeps no place for clients that were reset before it has seen them', async () => {
  const { port, limit, opened, cert } = await secure();
  await meanwhile(RESET_UNSEEN, port);
  const client = connect({ host: ADDRESS, port, ca: cert });
  cleanup.push(() => client.destroy());
  await once(client, 'secureConnect');
  // The others have been accepted before it.
  await vi.waitFor(() => expect(opened).toHaveLength(1), WAIT_MILLISECONDS);
  client.destroy();
  await vi.waitFor(() => expect(limit.held.size).toBe(0), WAIT_MILLISECONDS);
});

/** More than Node lets wait by itself. */
const CLIENTS = 600;

function systemAllows(): boolean {
  if (!existsSync(SOMAXCONN)) return false;
  const [, files] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))!;
  // Both ends of each connection are in this process.
  return Number(readFileSync(SOMAXCONN)) > CLIENTS && !(Number(files) < 4 * CLIENTS);
}

it.runIf(systemAllows())('takes hundreds of clients that connect while its thread is busy', async () => {
  const opened: ListenedConnection[] = [];
  const listener = new Listener({
    connect(read) {
      const one = connection(read);
      opened.push(one);
      return one;
    },
  });
  cleanup.push(() => listener.close(0));
  const port = await listener.listen(ADDRESS, 0);
  await meanwhile(
    `let connected = 0;
    const late = setTimeout(() => { over(); throw new Error(\`\${connected} of ${CLIENTS} are connected\`); }, 10_000);
    for (let i = 0; i < ${CLIENTS}; i++) connect(port, '127.0.0.1', () => {
      if (++connected < ${CLIENTS}) return;
      clearTimeout(late);
      over();
      process.exit();
    });`,
    port,
  );
  await vi.waitFor(() => expect(opened).toHaveLength(CLIENTS), WAIT_MILLISECONDS);
});

/** Holds back the last bytes of the handshake until the other thread stands still. */
const RESET_WITH_THE_HANDSHAKE = `
  const { parentPort } = require('node:worker_threads');
  const { Duplex } = require('node:stream');
  const raw = connect(port, '127.0.0.1');
  let hasGreeted = false;
  const wire = new Duplex({
    read() {},
    write(chunk, encoding, next) {
      if (!hasGreeted) { hasGreeted = true; raw.write(chunk, next); return; }
      parentPort.postMessage('ready');
      Atomics.wait(done, 1, 0);
      raw.on('close', over);
      raw.write(chunk, () => raw.resetAndDestroy());
    },
  });
  raw.on('data', (chunk) => wire.push(chunk));
  raw.on('error', () => undefined);
  tls.connect({ socket: wire, rejectUnauthorized: false }).on('error', () => undefined);`;

it('lets go of a client that was reset with the last bytes of its handshake', async () => {
  const { port, limit, opened, cert } = await secure();
  await meanwhile(RESET_WITH_THE_HANDSHAKE, port, 'when ready');
  const client = connect({ host: ADDRESS, port, ca: cert });
  cleanup.push(() => client.destroy());
  await vi.waitFor(() => expect(opened.filter(({ socket }) => !socket.destroyed)).toHaveLength(1), WAIT_MILLISECONDS);
  client.destroy();
  await vi.waitFor(() => expect(limit.held.size).toBe(0), WAIT_MILLISECONDS);
});

describe('a port whose certificate is renewed', () => {
  async function client(port: number, options: ConnectionOptions): Promise<TLSSocket> {
    const socket = connect({ host: ADDRESS, port, ...options });
    cleanup.push(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  }

  const before = selfSignedCertificate();
  const after = selfSignedCertificate();

  async function mutual(...roots: readonly string[]) {
    const sockets: Socket[] = [];
    const failures: string[] = [];
    const settings = { ...before, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['own'] };
    const listener = new Listener({
      tls: { ...settings, ca: [...roots] },
      onHandshakeError: ({ message }) => void failures.push(message),
      connect(read) {
        const one = connection(read);
        sockets.push(one.socket);
        return one;
      },
    });
    cleanup.push(() => listener.close(0));
    return { listener, settings, sockets, failures, port: await listener.listen(ADDRESS, 0) };
  }

  it('shows it to new connections, and keeps the open ones', async () => {
    const { listener, settings, sockets, port } = await mutual(before.cert);
    const own = { cert: before.cert, key: before.key };
    const old = await client(port, { ...own, ca: before.cert });
    listener.renewTls({ ...settings, cert: after.cert, key: after.key, ca: before.cert });
    const fresh = await client(port, { ...own, ca: after.cert });
    await vi.waitFor(() => expect(sockets).toHaveLength(2), WAIT_MILLISECONDS);
    for (const [i, socket] of [old, fresh].entries()) {
      sockets[i]!.write(`${i}`);
      expect(String(await once(socket, 'data'))).toBe(`${i}`);
    }
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('says why it refuses a client, over %s', async (maxVersion) => {
    const { failures, port } = await mutual(before.cert);
    const refused = [{ cert: after.cert, key: after.key }, {}, { ...before, ALPNProtocols: ['other'] }];
    for (const own of refused) {
      const socket = connect({ host: ADDRESS, port, ca: before.cert, maxVersion, ...own });
      await new Promise((resolve) => socket.on('error', ignore).once('close', resolve));
    }
    await expect
      .poll(() => failures)
      .toEqual([
        'the certificate of the client is not trusted: DEPTH_ZERO_SELF_SIGNED_CERT',
        'peer did not return a certificate',
        'no application protocol',
      ]);
  });

  it('still refuses old versions of TLS where Node would take them', async () => {
    const { listener, settings, port } = await mutual(before.cert);
    const standard = tls.DEFAULT_MIN_VERSION;
    cleanup.push(() => (tls.DEFAULT_MIN_VERSION = standard));
    tls.DEFAULT_MIN_VERSION = 'TLSv1.1';
    const ciphers = 'DEFAULT@SECLEVEL=0';
    listener.renewTls({ ...settings, ca: before.cert, ciphers });
    const broken = { ...before, ca: before.cert, maxVersion: 'TLSv1.1', ciphers } as const;
    await expect(client(port, broken)).rejects.toThrow(/alert protocol version/);
  });

  it('resumes no session of a client that the new roots do not vouch for', async () => {
    const { listener, settings, sockets, port } = await mutual(before.cert);
    const options = { ...before, ca: before.cert, maxVersion: 'TLSv1.2' } as const;
    const first = await client(port, options);
    const again = await client(port, { ...options, session: first.getSession()! });
    expect(again.isSessionReused()).toBe(true);
    listener.renewTls({ ...settings, ca: after.cert });
    const late = connect({ host: ADDRESS, port, ...options, session: first.getSession()! });
    late.on('error', ignore);
    await new Promise((resolve) => late.once('close', resolve));
    expect(sockets).toHaveLength(2);
  });
});
