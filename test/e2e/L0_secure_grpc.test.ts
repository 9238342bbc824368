// Triton's L0_secure_grpc: TLS and mutual TLS, and what is wrong with certificates.
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

import { credentials, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';

import { Triton, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { floatsOf, floatTensor, GrpcService, inferMessage, type InferMessage } from '../support/grpc-client.js';
import { selfSignedCertificate } from '../support/self-signed-certificate.js';
import { FREE_PORTS, startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const MODEL = { modelName: 'identity', inputs: { x: FLOATS }, outputs: { y: FLOATS } } as const;

function bind(triton: Triton): void {
  triton.bind({ ...MODEL, inferFunc: (requests) => requests });
}

const path = temporaryFolder();
const server = selfSignedCertificate();
const client = selfSignedCertificate();
const stranger = selfSignedCertificate();
const FILES: TritonConfig = {
  grpcServerCert: path('server.pem', server.cert),
  grpcServerKey: path('server-key.pem', server.key),
};
const TLS: TritonConfig = { ...FILES, grpcUseSsl: true };
const MUTUAL: TritonConfig = { ...FILES, grpcUseSslMutual: true, grpcRootCert: path('clients.pem', client.cert) };

const buffers = ({ cert, key }: typeof client) => [Buffer.from(key), Buffer.from(cert)] as const;
const trusting = credentials.createSsl(Buffer.from(server.cert));
const REQUEST = inferMessage('identity', [floatTensor('x', [1, 2])]);

/** Whether the server takes up a connection: over a bare socket, for clients of gRPC go on trying. */
async function connection(grpc: string, given: ConnectionOptions | undefined): Promise<'served' | 'refused'> {
  const { hostname: host, port } = new URL(grpc);
  const place = { host, port: Number(port) };
  const socket: Socket =
    given === undefined
      ? connect(place)
      : connectTls({ ...place, ca: server.cert, ALPNProtocols: ['h2'], servername: 'localhost', ...given });
  socket.on('error', () => undefined);
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const outcome = await new Promise<'served' | 'refused'>((resolve) => {
    // What is served begins with the settings of HTTP/2.
    socket.once('data', () => resolve('served'));
    socket.once('close', () => resolve('refused'));
  });
  socket.destroy();
  return outcome;
}

describe.each([{ serverThread: true }, { serverThread: false }])('L0_secure_grpc with %o', (config) => {
  it('serves over TLS, streams too', async () => {
    await using running = await startServer(bind, { ...TLS, ...config });
    using service = new GrpcService(running.grpc, { credentials: trusting });
    expect(floatsOf(await service.call<InferMessage>('ModelInfer', REQUEST))).toEqual([1, 2]);
    const answers = service.stream().send(REQUEST, REQUEST);
    expect((await answers.end()).code).toBe(status.OK);
    expect(answers.messages).toHaveLength(2);
  });

  it('serves over TLS to clients whose certificate is known', async () => {
    await using running = await startServer(bind, { ...MUTUAL, ...config });
    const known = credentials.createSsl(Buffer.from(server.cert), ...buffers(client));
    using service = new GrpcService(running.grpc, { credentials: known });
    expect(floatsOf(await service.call<InferMessage>('ModelInfer', REQUEST))).toEqual([1, 2]);
  });
});

describe('L0_secure_grpc', () => {
  it.each([
    ['serves clients whose certificate is known', 'served', client],
    ['refuses clients without a certificate', 'refused', {}],
    ['refuses clients with a certificate that nobody vouches for', 'refused', stranger],
    ['refuses clients without TLS', 'refused', undefined],
  ])('mutual TLS %s', async (_, outcome, given) => {
    await using running = await startServer(bind, MUTUAL);
    expect(await connection(running.grpc, given)).toBe(outcome);
  });

  it('clients refuse a server that they do not trust', async () => {
    await using running = await startServer(bind, TLS);
    const other = credentials.createSsl(Buffer.from(stranger.cert));
    using service = new GrpcService(running.grpc, { credentials: other });
    await expect(service.call('ServerLive')).rejects.toMatchObject({ code: status.UNAVAILABLE });
    using plain = new GrpcService(running.grpc);
    await expect(plain.call('ServerLive')).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  it('works with the client of the package', async () => {
    await using running = await startServer(bind, MUTUAL);
    const tls = { ca: server.cert, cert: client.cert, key: client.key };
    await using modelClient = new ModelClient(running.grpc.replace('grpc://', 'grpcs://'), MODEL, { tls });
    const { y } = await modelClient.inferSample({ x: Float32Array.of(3) });
    expect([...y!.data]).toEqual([3]);
  });

  it('says to the client of the package that its certificate may not be trusted', async () => {
    await using running = await startServer(bind, MUTUAL);
    const tls = { ca: server.cert, cert: stranger.cert, key: stranger.key };
    await using modelClient = new ModelClient(running.grpc.replace('grpc://', 'grpcs://'), MODEL, { tls });
    await expect(modelClient.inferSample({ x: Float32Array.of(3) })).rejects.toThrow(
      'connection lost before a word of the server; does it trust the certificate in tls.cert?',
    );
  });

  it.each([
    [{ grpcServerCert: '/no/such.pem' }, /^grpcServerCert: cannot read \/no\/such\.pem: ENOENT/],
    [
      { grpcServerKey: path('text.pem', 'text') },
      /^grpcServerKey: expected an unencrypted private key in PEM form in /,
    ],
    [{ grpcServerKey: path('other.pem', stranger.key) }, /^grpcServerKey: expected the key of the certificate /],
  ])('run() says what is wrong with the files: %j', async (wrong, message) => {
    for (const serverThread of [true, false]) {
      const triton = new Triton({ ...FREE_PORTS, ...TLS, ...wrong, serverThread });
      await expect(triton.run()).rejects.toMatchObject({
        code: 'INVALID_ARG',
        message: expect.stringMatching(message) as string,
      });
    }
  });
});
