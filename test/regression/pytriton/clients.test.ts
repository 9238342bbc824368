// What PyTriton 0.7.0's clients do wrong, asked of ours. The numbers are those of README.md.
import { networkInterfaces } from 'node:os';

import { describe, expect, it } from 'vitest';

import { defineModel, TritonError, type Triton, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { gate, startServer } from '../../support/start-server.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { maxBatchSize: 1 },
});
const X = Float32Array.of(2);
const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all!.some(({ address }) => address === '::1'));

function bind(triton: Triton): void {
  triton.bind({ ...double, inferFunc: (requests) => requests.map(({ inputs }) => ({ y: inputs.x.map((x) => 2 * x) })) });
} // prettier-ignore

/** The names of the access token's header. */
const TOKEN_HEADERS = { http: 'triton-access-token', grpc: 'triton-grpc-protocol-triton-access-token' } as const;

describe.each(['http', 'grpc'] as const)('a client over %s', (wire) => {
  it('12: speaks that protocol alone, for the configuration too', async () => {
    const only: TritonConfig = wire === 'grpc' ? { allowHttp: false } : { allowGrpc: false };
    await using server = await startServer(bind, { ...only, allowMetrics: false, serverThread: false });
    await using client = new ModelClient(server[wire], 'Double');
    expect((await client.inferSample({ x: X }))['y']!.data).toEqual(Float32Array.of(4));
  });

  it('13: makes room for any number of others of the same model', async () => {
    await using server = await startServer(bind, { serverThread: false });
    const clients = Array.from({ length: 8 }, () => new ModelClient(server[wire], double));
    const answers = await Promise.all(clients.map((client) => client.inferSample({ x: X })));
    expect(answers.map(({ y }) => y!.data[0])).toEqual(clients.map(() => 4));
    await Promise.all(clients.map((client) => client.close()));
  });

  it('14: sends the access token with every request', async () => {
    const restrictedEndpoints = ['inference', 'model-config', 'metadata', 'health'];
    await using server = await startServer(bind, { restrictedEndpoints, serverThread: false });
    const headers = { [TOKEN_HEADERS[wire]]: server.triton.accessToken! };
    await using client = new ModelClient(server[wire], 'Double', { headers });
    expect((await client.inferSample({ x: X }))['y']!.data).toEqual(Float32Array.of(4));
    await using stranger = new ModelClient(server[wire], 'Double');
    await expect(stranger.inferSample({ x: X })).rejects.toThrow('restricted, expecting header');
  });

  it('15: goes on after a call that was refused', async () => {
    await using server = await startServer(bind, { serverThread: false });
    await using client = new ModelClient(server[wire], double);
    const refused = client.inferSample({ x: X }, { parameters: { wrong: {} as never } });
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARG' });
    await expect(client.inferSample({ x: Float32Array.of(1, 2) })).rejects.toBeInstanceOf(TritonError);
    expect((await client.inferSample({ x: X })).y!.data).toEqual(Float32Array.of(4));
  });

  it('16: goes on after a call that was cancelled, and so do the calls beside it', async () => {
    const began = gate();
    const release = gate();
    const bindHeld = (triton: Triton) =>
      triton.bind({
        ...double,
        inferFunc: async (requests) => {
          began.open();
          await release.opened;
          return requests;
        },
      });
    await using server = await startServer(bindHeld, { serverThread: false });
    await using client = new ModelClient(server[wire], double);
    const beside = client.inferSample({ x: X });
    await began.opened;
    const controller = new AbortController();
    const cancelled = client.inferSample({ x: X }, { signal: controller.signal });
    controller.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' });
    release.open();
    expect((await beside).y!.data).toEqual(X);
    expect((await client.inferSample({ x: X })).y!.data).toEqual(X);
  });

  it('17: is told at once that a model is unknown', async () => {
    await using server = await startServer(bind, { serverThread: false });
    await using client = new ModelClient(server[wire], { ...double, modelName: 'Unknown' }, { timeoutMs: 2 ** 31 - 1 });
    await expect(client.inferSample({ x: X })).rejects.toThrow("Request for unknown model: 'Unknown' is not found");
  });

  it.runIf(HAS_IPV6)('22: reaches a server by its IPv6 address', async () => {
    await using server = await startServer(bind, { [`${wire}Address`]: '::1', metricsAddress: '127.0.0.1' });
    const port = wire === 'http' ? server.triton.httpPort : server.triton.grpcPort;
    await using client = new ModelClient(`${wire}://[::1]:${port}`, double);
    expect((await client.inferSample({ x: X })).y!.data).toEqual(Float32Array.of(4));
  });
});

describe('the configuration that clients get', () => {
  it('23: tells nothing of where the server lies, and no token', async () => {
    await using server = await startServer(bind, { serverThread: false });
    const config = await (await fetch(`${server.http}/v2/models/Double/config`)).text();
    expect(config).toContain('"name":"Double"');
    for (const secret of [process.cwd(), 'file:', server.triton.accessToken!]) expect(config).not.toContain(secret);
  });
});
