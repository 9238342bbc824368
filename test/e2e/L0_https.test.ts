// Triton's L0_https: HTTP over TLS through a proxy in front, as Triton's own test has it, for Triton speaks no TLS over HTTP. The
// proxy here hands bytes on, so that everything of HTTP goes through it. And over TLS of the server's own.
import { connect, type AddressInfo } from 'node:net';
import { connect as connectTls, createServer, type ConnectionOptions } from 'node:tls';

import { describe, expect, it } from 'vitest';

import { batch, defineModel, stream, Triton, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { selfSignedCertificate } from '../support/self-signed-certificate.js';
import { FREE_PORTS, startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
const certificate = selfSignedCertificate();

/** A TLS proxy in front of an HTTP port. */
async function startProxy(port: number): Promise<AsyncDisposable & { readonly url: string }> {
  const proxy = createServer({ cert: certificate.cert, key: certificate.key }, (secure) => {
    const plain = connect(port, '127.0.0.1');
    secure.on('error', () => plain.destroy());
    plain.on('error', () => secure.destroy());
    secure.pipe(plain).pipe(secure);
  });
  // A client that does not trust the certificate breaks off.
  proxy.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://localhost:${(proxy.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void proxy.close(() => resolve())),
  };
}

describe('L0_https', () => {
  it('infers through a proxy that the client trusts, and refuses one that it does not', async () => {
    await using server = await startServer(
      (triton) => void triton.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })) }),
    );
    await using proxy = await startProxy(server.triton.httpPort!);
    {
      await using client = new ModelClient(proxy.url, double, { tls: { ca: certificate.cert } });
      const x = Float32Array.from({ length: 50_000 }, (_, i) => i);
      expect((await client.inferSample({ x })).y!.data).toEqual(x.map((value) => 2 * value));
    }
    await using stranger = new ModelClient(proxy.url, double);
    await expect(stranger.inferSample({ x: [1] })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

const path = temporaryFolder();
const known = selfSignedCertificate();
const unknown = selfSignedCertificate();
const FILES: TritonConfig = {
  httpServerCert: path('server.pem', certificate.cert),
  httpServerKey: path('server-key.pem', certificate.key),
};
const TLS: TritonConfig = { ...FILES, httpUseSsl: true };
const MUTUAL: TritonConfig = { ...FILES, httpUseSslMutual: true, httpRootCert: path('clients.pem', known.cert) };

function bind(triton: Triton): void {
  triton.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })) });
  triton.bind({
    modelName: 'Count',
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true },
    inferFunc: stream(async function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) yield { i: [[await Promise.resolve(i)]] };
    }),
  });
}

const HEALTH = 'GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

/** What the server answers to a request, over TLS or without. */
async function answerTo(port: number, options: ConnectionOptions | undefined, request = HEALTH): Promise<string> {
  const place = { port, host: '127.0.0.1' };
  const socket =
    options === undefined
      ? connect(place)
      : connectTls({ ...place, servername: 'localhost', ca: certificate.cert, ...options });
  let answer = '';
  socket.on('error', () => undefined);
  socket.on('data', (piece: Buffer) => (answer += piece.toString('latin1')));
  socket.write(request);
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}

describe.each([{ serverThread: true }, { serverThread: false }])("TLS of the server's own with %o", (config) => {
  it('serves tensors of any size, streams, and several requests at once', async () => {
    await using server = await startServer(bind, { ...TLS, ...config });
    const url = `https://localhost:${server.triton.httpPort}`;
    await using client = new ModelClient(url, double, { tls: { ca: certificate.cert } });
    const sizes = [1, 5000, 2_000_000];
    const answers = await Promise.all(
      sizes.map((length) => client.inferSample({ x: Float32Array.from({ length }, (_, i) => i) })),
    );
    for (const [i, { y }] of answers.entries()) {
      expect(y!.data).toEqual(Float32Array.from({ length: sizes[i]! }, (_, k) => 2 * k));
    }
    const streamed = await answerTo(
      server.triton.httpPort!,
      {},
      'POST /v2/models/Count/generate_stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 7\r\n\r\n{"n":3}',
    );
    expect(streamed.match(/data: .*/g)!.map((event) => (JSON.parse(event.slice(6)) as { i: number }).i)).toEqual([
      0, 1, 2,
    ]);
    // The other ports are as they were.
    expect((await fetch(server.metrics)).status).toBe(200);
  });

  it('serves clients whose certificate is known, where that is asked for, and nobody else', async () => {
    await using server = await startServer(bind, { ...MUTUAL, ...config });
    const port = server.triton.httpPort!;
    const tls = { ca: certificate.cert, cert: known.cert, key: known.key };
    await using client = new ModelClient(`https://localhost:${port}`, double, { tls });
    expect([...(await client.inferSample({ x: Float32Array.of(3) })).y!.data]).toEqual([6]);
    expect(await answerTo(port, known)).toContain('HTTP/1.1 200 OK');
    expect(await answerTo(port, {})).toBe('');
    expect(await answerTo(port, unknown)).toBe('');
    expect(await answerTo(port, undefined)).toBe('');
  });

  it('ends when the server stops, in its handshake too', async () => {
    const server = await startServer(bind, { ...TLS, ...config });
    const silent = connect(server.triton.httpPort!, '127.0.0.1');
    // A reset, or an end: it is over.
    silent.on('error', () => undefined);
    await new Promise((resolve) => silent.once('connect', resolve));
    const closed = new Promise((resolve) => silent.resume().once('close', resolve));
    await server.triton.stop();
    await closed;
    expect(silent.destroyed).toBe(true);
  });
});

it.each([
  [{ httpServerCert: '/no/such.pem' }, /^httpServerCert: cannot read \/no\/such\.pem: ENOENT/],
  [{ httpServerKey: path('text.pem', 'text') }, /^httpServerKey: expected an unencrypted private key in PEM form in /],
  [{ httpServerKey: path('other.pem', unknown.key) }, /^httpServerKey: expected the key of the certificate /],
])('run() says what is wrong with the files: %j', async (wrong, message) => {
  for (const serverThread of [true, false]) {
    const triton = new Triton({ ...FREE_PORTS, ...TLS, ...wrong, serverThread });
    await expect(triton.run()).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: expect.stringMatching(message) as string,
    });
  }
});
