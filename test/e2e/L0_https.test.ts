// Triton's L0_https: HTTP over TLS through a proxy in front, as Triton's own test has it: neither server speaks TLS over
// HTTP itself. The proxy here hands bytes on, so that everything of HTTP goes through it.
import { connect, type AddressInfo } from 'node:net';
import { createServer } from 'node:tls';

import { describe, expect, it } from 'vitest';

import { batch, defineModel } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { selfSignedCertificate } from '../support/self-signed-certificate.js';
import { startServer } from '../support/start-server.js';

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
