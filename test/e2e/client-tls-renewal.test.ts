// Clients and links whose certificates are renewed with those of the server: `tls` is a function, and each connection asks it.
import { once } from 'node:events';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

import { describe, expect, it } from 'vitest';

import { batch, defineModel, RemoteTriton, type Tensor, type Triton, type TritonConfig } from 'tstriton';
import { type ClientTlsOptions, ModelClient, ServerClient, TritonConnectionError } from 'tstriton/client';

import { PlayedTritonserver } from '../support/played-tritonserver.js';
import { REMOTE_TOKEN, SILENT } from '../support/remote.js';
import { selfSignedCertificate } from '../support/self-signed-certificate.js';
import { startServer } from '../support/start-server.js';
import { emptyFolder, temporaryFolder } from '../support/temporary-files.js';

type Int32 = { readonly x: Tensor<'int32'> };

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 8 },
  strict: true,
});
const served = { ...double, inferFunc: batch(({ x }: Int32) => ({ y: x.map((value) => 2 * value) })) };

/** Certificates of a server and of a client, each of which trusts the other. */
function makePair() {
  const [server, client] = [selfSignedCertificate(), selfSignedCertificate()];
  const tls: ClientTlsOptions = { ca: server.cert, cert: client.cert, key: client.key };
  return { server, client, tls };
}

type Pair = ReturnType<typeof makePair>;

function mutual({ server, client }: Pair): TritonConfig {
  const write = temporaryFolder();
  const [cert, key] = [write('cert.pem', server.cert), write('key.pem', server.key)];
  const roots = write('clients.pem', client.cert);
  return {
    httpUseSslMutual: true,
    httpServerCert: cert,
    httpServerKey: key,
    httpRootCert: roots,
    grpcUseSslMutual: true,
    grpcServerCert: cert,
    grpcServerKey: key,
    grpcRootCert: roots,
  };
}

/** What a function of `tls` gives at the moment, and how often it was asked. */
class Given {
  times = 0;
  give: () => ClientTlsOptions;

  constructor({ tls }: Pair) {
    this.give = () => tls;
  }

  readonly tls = (): ClientTlsOptions => {
    this.times++;
    return this.give();
  };
}

const bindDouble = (triton: Triton) => void triton.bind(served);

describe.each(['https', 'grpcs'] as const)('certificates of a client of %s', (scheme) => {
  it('may be renewed: each connection is made with those of the moment', async () => {
    const [first, second] = [makePair(), makePair()];
    const given = new Given(first);
    await using before = await startServer(bindDouble, mutual(first));
    const { httpPort, grpcPort, metricsPort } = before.triton;
    const port = scheme === 'https' ? httpPort : grpcPort;
    const url = `${scheme}://localhost:${port}`;
    await using client = new ModelClient(url, double, { tls: given.tls, retry: false });
    await using admin = new ServerClient(url, { tls: given.tls });
    expect(given.times).toBe(0);
    const ask = async (value: number) => (await client.inferSample({ x: [value] })).y.data[0];
    expect(await ask(1)).toBe(2);
    expect(await admin.isLive()).toBe(true);
    const { times } = given;
    given.give = () => second.tls;
    expect([await ask(2), await ask(3)]).toEqual([4, 6]);
    // The connections are those from before.
    expect(given.times).toBe(times);

    given.give = () => first.tls;
    await before.triton.stop();
    await using after = await startServer(bindDouble, { ...mutual(second), httpPort, grpcPort, metricsPort } as never);
    expect(after.triton.httpPort).toBe(httpPort);
    await expect(ask(4)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    for (const [give, reason] of [
      [() => void JSON.parse('{'), 'options.tls(): '],
      [() => ({ ...second.tls, key: first.tls.key }), 'options.tls().key: expected the key of the certificate, got: '],
      [() => ({ ca: './ca.pem' }), 'options.tls().ca: expected certificates in PEM form, got: what may be its path'],
      [() => ({ cert: second.tls.cert }), 'options.tls(): expected cert and key together, got: only cert'],
      [() => undefined, 'options.tls() must be an object, got undefined'],
      [() => Promise.resolve(second.tls), 'options.tls() must be an object, got a Promise'],
      [() => ({ CA: second.tls.ca }), "options.tls() has an unknown option 'CA'; did you mean 'ca'?"],
    ] as const) {
      given.give = give as never;
      const error: unknown = await ask(5).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'UNAVAILABLE', requestSent: false });
      expect(TritonConnectionError.is(error) && error.message).toContain(`${url} is not available: ${reason}`);
      expect((error as Error).cause).toBeInstanceOf(Error);
    }

    given.give = () => second.tls;
    const values = Array.from({ length: 40 }, (_, i) => 100 + i);
    expect(await Promise.all(values.map(ask))).toEqual(values.map((value) => 2 * value));
    expect(await admin.isLive()).toBe(true);
    if (scheme === 'https') return;
    await using stream = client.stream();
    await stream.send({ x: [7] });
    expect((await stream.next()).value?.outputs?.y.data[0]).toBe(14);
  });

  it('are asked for again by a retry, for the files of a moment may not fit', async () => {
    const pair = makePair();
    const given = new Given(pair);
    await using server = await startServer(bindDouble, mutual(pair));
    const { httpPort, grpcPort } = server.triton;
    const url = `${scheme}://localhost:${scheme === 'https' ? httpPort : grpcPort}`;
    given.give = () => {
      given.give = () => pair.tls;
      throw new Error('half written');
    };
    await using client = new ModelClient(url, double, { tls: given.tls, retry: { initialBackoffMs: 1 } });
    expect((await client.inferSample({ x: [21] })).y.data[0]).toBe(42);
  });
});

describe('certificates of a process that binds models', () => {
  it('may be renewed before it links again', async () => {
    const [first, second] = [makePair(), makePair()];
    const given = new Given(first);
    const remoteAccessToken = REMOTE_TOKEN;
    await using before = await startServer(() => undefined, { ...mutual(first), remoteAccessToken });
    const { httpPort, grpcPort, metricsPort } = before.triton;
    const errors: string[] = [];
    await using remote = new RemoteTriton(`grpcs://localhost:${grpcPort}`, {
      accessToken: REMOTE_TOKEN,
      tls: given.tls,
      logger: { ...SILENT, error: (line) => void errors.push(line) },
    });
    remote.bind(served);
    await remote.connect();
    // The link, and the callable's own connection.
    expect(given.times).toBe(2);
    const fixed = { ...mutual(second), httpPort, grpcPort, metricsPort, remoteAccessToken } as never;
    await before.triton.stop();
    await using _ = await startServer(() => undefined, fixed);
    const linking = (text: string) => expect.stringMatching(new RegExp(`^cannot link again: .*${text}`));
    await expect.poll(() => errors).toContainEqual(linking('self-signed certificate'));
    given.give = () => {
      throw new Error('no such file');
    };
    await expect.poll(() => errors).toContainEqual(linking('options\\.tls\\(\\): no such file'));
    given.give = () => second.tls;
    await expect.poll(() => remote.isReady).toBe(true);
    await using client = new ModelClient(`https://localhost:${httpPort}`, double, { tls: second.tls });
    const values = Array.from({ length: 40 }, (__, i) => 100 + i);
    const asked = values.map(async (value) => (await client.inferSample({ x: [value] })).y.data[0]);
    expect(await Promise.all(asked)).toEqual(values.map((value) => 2 * value));
  });

  it('may be renewed before it reaches a tritonserver again', async () => {
    const [first, second] = [makePair(), makePair()];
    const given = new Given(first);
    await using server = await new PlayedTritonserver().start();
    await using relay = await tlsRelay(server, first);
    const errors: string[] = [];
    await using triton = new RemoteTriton(`https://localhost:${relay.port}`, {
      engine: 'tritonserver',
      instanceAddress: join(emptyFolder('tstriton-joined-'), 'app.sock'),
      tls: given.tls,
      logger: { ...SILENT, error: (line) => void errors.push(line) },
    });
    await triton.bind(served).connect();
    await server.kill();
    relay.renew(second);
    await server.start();
    const looking = (text: string) => expect.stringMatching(new RegExp(`is gone; looking for it: .*${text}`));
    await expect.poll(() => errors).toContainEqual(looking('self-signed certificate'));
    given.give = () => ({ ca: 'text' });
    await expect.poll(() => errors).toContainEqual(looking('options\\.tls\\(\\)\\.ca: expected certificates'));
    expect(triton.isReady).toBe(false);
    given.give = () => second.tls;
    await expect.poll(() => triton.isReady).toBe(true);
    expect(server.loads).toEqual(['Double', 'Double']);
  });
});

/** Mutual TLS in front of a server without it. */
async function tlsRelay(server: PlayedTritonserver, pair: Pair) {
  const optionsOf = ({ server: { cert, key }, client }: Pair): TlsOptions => ({ cert, key, ca: client.cert });
  const sockets = new Set<Socket>();
  const relay = createTlsServer({ ...optionsOf(pair), requestCert: true }, (socket) => {
    const behind = connectTcp(Number(new URL(server.url).port), '127.0.0.1');
    for (const [from, to] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => undefined).on('close', () => to.destroy());
    }
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    port: (relay.address() as AddressInfo).port,
    renew: (next: Pair) => relay.setSecureContext(optionsOf(next)),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => relay.close(resolve));
    },
  };
}
