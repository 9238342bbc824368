// What SECURITY.md promises: every route and every method can be restricted, secrets are in no log and in no answer, and nobody gets in
// over a version of TLS that is broken, or without the certificate that is asked for.
import { readFileSync } from 'node:fs';
import { connect as connectTls, type SecureVersion } from 'node:tls';

import { describe, expect, it, vi } from 'vitest';

import { Triton, type TritonConfig } from 'tstriton';

import { servedMethods } from '../../src/frontend/grpc/grpc-service.js';
import { ENDPOINTS, type Endpoint } from '../../src/frontend/http/endpoints.js';
import { matchRoute } from '../../src/frontend/http/routes.js';
import { CATEGORIES } from '../../src/frontend/restricted-features.js';
import type { ServedCore } from '../../src/frontend/served-core.js';
import { controlledCore } from '../support/controlled-core.js';
import { framed, rawGrpcCall } from '../support/raw-grpc.js';
import { selfSignedCertificate } from '../support/self-signed-certificate.js';
import { FREE_PORTS, startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();
const FLOATS = { dtype: 'float32', shape: [-1] } as const;

function bind(triton: Triton): void {
  triton.bind({
    modelName: 'm',
    route: 'POST /own',
    inferFunc: (requests) => requests,
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
  });
}

/** A path of each endpoint. The type has a new one be added here. */
const PATHS: Readonly<Record<Endpoint, readonly string[]>> = {
  'server metadata': ['/v2'],
  openapi: ['/openapi.json'],
  live: ['/v2/health/live'],
  ready: ['/v2/health/ready'],
  'model list': ['/v2/models'],
  'model metadata': ['/v2/models/m', '/v2/models/m/versions/1'],
  'model ready': ['/v2/models/m/ready', '/v2/models/m/versions/1/ready'],
  'model config': ['/v2/models/m/config', '/v2/models/m/versions/1/config'],
  statistics: ['/v2/models/stats', '/v2/models/m/stats', '/v2/models/m/versions/1/stats'],
  infer: ['/v2/models/m/infer', '/v2/models/m/versions/1/infer'],
  generate: ['/v2/models/m/generate', '/v2/models/m/versions/1/generate'],
  'generate stream': ['/v2/models/m/generate_stream', '/v2/models/m/versions/1/generate_stream'],
  'plain json': ['/own'],
  trace: ['/v2/trace/setting', '/v2/models/m/trace/setting'],
  logging: ['/v2/logging'],
  'repository index': ['/v2/repository/index', '/v2/repository/r/index'],
  'model load': ['/v2/repository/models/m/load', '/v2/repository/r/models/m/load'],
  'model unload': ['/v2/repository/models/m/unload', '/v2/repository/r/models/m/unload'],
  'system shared memory status': ['/v2/systemsharedmemory/status', '/v2/systemsharedmemory/region/s/status'],
  'system shared memory register': ['/v2/systemsharedmemory/region/s/register'],
  'system shared memory unregister': [
    '/v2/systemsharedmemory/unregister',
    '/v2/systemsharedmemory/region/s/unregister',
  ],
  'cuda shared memory status': ['/v2/cudasharedmemory/status', '/v2/cudasharedmemory/region/s/status'],
  'cuda shared memory register': ['/v2/cudasharedmemory/region/s/register'],
  'cuda shared memory unregister': ['/v2/cudasharedmemory/unregister', '/v2/cudasharedmemory/region/s/unregister'],
};
const SECRET = "a secret that is nobody else's business";
const ALL: TritonConfig = { restrictedEndpoints: [...CATEGORIES], accessToken: SECRET };
const core = { ...controlledCore(), isReady: () => true } as unknown as ServedCore;
const SERVED = servedMethods({ server: core, forwarding: undefined, compression: 'none' });
const METHODS = [...SERVED].map(([path, { category }]) => [path, category] as const);

describe('a server whose every API is restricted', () => {
  it('answers no path of HTTP without the token, by any method and however the path is written', async () => {
    await using server = await startServer(bind, ALL);
    const { host } = new URL(server.http);
    for (const [endpoint, paths] of Object.entries(PATHS)) {
      for (const path of paths) {
        expect(matchRoute(path)?.endpoint ?? 'plain json').toBe(endpoint);
        const { methods } = ENDPOINTS[endpoint as Endpoint];
        for (const written of [path, `${path}?x=y`]) {
          for (const method of methods) {
            const response = await fetch(`http://${host}${written}`, { method });
            const outcome = `${method} ${written} ${response.status} ${await response.text()}`;
            expect(outcome).toBe(
              `${method} ${written} 403 {"error":"This API is restricted, expecting header 'triton-access-token'"}`,
            );
          }
        }
      }
    }
  });

  it('answers no method of gRPC without the token, but tells its services', async () => {
    await using server = await startServer(bind, ALL);
    const restricted = "14 This protocol is restricted, expecting header 'triton-grpc-protocol-triton-access-token'";
    const outcomes = new Map<string, string>();
    for (const [path] of METHODS) {
      const { status } = await rawGrpcCall(server.grpc, path, framed(Buffer.alloc(0)));
      outcomes.set(path, `${status.code} ${status.message}`);
    }
    const open = METHODS.map(([path]) => path).filter((path) => outcomes.get(path) !== restricted);
    expect(open.every((path) => path.includes('reflection'))).toBe(true);
    expect(open).toEqual(METHODS.filter(([, category]) => category === undefined).map(([path]) => path));
  });

  it('restricts the other HTTP frontends as well', async () => {
    vi.stubEnv('AIP_PREDICT_ROUTE', '/predict');
    vi.stubEnv('AIP_HEALTH_ROUTE', '/health');
    await using server = await startServer(bind, {
      ...ALL,
      allowSagemaker: true,
      sagemakerPort: 0,
      allowVertexAi: true,
      vertexAiPort: 0,
    });
    const { sagemakerPort, vertexAiPort } = server.triton;
    expect([sagemakerPort, vertexAiPort]).toEqual([expect.any(Number), expect.any(Number)]);
    for (const [port, method, path] of [
      [sagemakerPort, 'GET', '/ping'],
      [sagemakerPort, 'POST', '/invocations'],
      [vertexAiPort, 'POST', '/predict'],
    ] as const) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
      await response.arrayBuffer();
      expect(`${path} ${response.status}`).toBe(`${path} 403`);
    }
  });
});

describe.each([{ serverThread: true }, { serverThread: false }])('secrets with %o', (config) => {
  it('are in no line of the log and in no answer, right or wrong', async () => {
    const logFile = file('server.log');
    const wrong = 'another secret that somebody tried';
    const answers: string[] = [];
    {
      await using server = await startServer(bind, { ...ALL, ...config, logFile, logVerbose: 9 });
      for (const token of [SECRET, wrong]) {
        for (const path of ['/v2/models/m', '/v2/logging', '/v2/nowhere']) {
          const response = await fetch(server.http + path, { headers: { 'triton-access-token': token } });
          answers.push(`${response.status} ${await response.text()} ${JSON.stringify([...response.headers])}`);
        }
        const called = await rawGrpcCall(server.grpc, METHODS[3]![0], framed(Buffer.alloc(0)), {
          'triton-grpc-protocol-triton-access-token': token,
        });
        answers.push(JSON.stringify([called.headers, called.status]), called.body.toString('latin1'));
      }
      answers.push(await (await fetch(server.metrics)).text());
    }
    expect(answers.filter((answer) => answer.startsWith('200')).length).toBe(2);
    const told = answers.join('\n') + readFileSync(logFile, 'utf8');
    expect(told).toContain('"name":"m"');
    for (const secret of [SECRET, wrong]) expect(told).not.toContain(secret);
  });
});

it.each(['metadata', 'metadata=secret', 'metadata:=secret'])(
  'an error about the restriction %j keeps its value',
  (text) => {
    expect(() => new Triton({ ...FREE_PORTS, httpRestrictedApi: [text] })).toThrow(/^(?!.*secret).*must be like/);
  },
);

const certificate = selfSignedCertificate();
const known = selfSignedCertificate();
const [cert, key, clients] = [
  file('cert.pem', certificate.cert),
  file('key.pem', certificate.key),
  file('clients.pem', known.cert),
];
const TLS: TritonConfig = {
  httpUseSsl: true,
  httpServerCert: cert,
  httpServerKey: key,
  httpRootCert: clients,
  grpcUseSsl: true,
  grpcServerCert: cert,
  grpcServerKey: key,
  grpcRootCert: clients,
};
const BROKEN = ['TLSv1', 'TLSv1.1'] as const;
const SOUND = ['TLSv1.2', 'TLSv1.3'] as const;

/** Whether a handshake comes to an end with this version alone. */
async function handshake(port: number, version: SecureVersion): Promise<string> {
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    servername: 'localhost',
    ca: certificate.cert,
    ALPNProtocols: ['h2', 'http/1.1'],
    minVersion: version,
    maxVersion: version,
    // Node's own client would refuse them first.
    ciphers: 'DEFAULT@SECLEVEL=0',
  });
  return new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(socket.getProtocol() ?? 'none'));
    socket.once('error', ({ message }) => resolve(message));
  }).finally(() => socket.destroy()) as Promise<string>;
}

describe.each(['httpPort', 'grpcPort'] as const)('TLS of the %s', (name) => {
  it('is of version 1.2 or 1.3', async () => {
    await using server = await startServer(bind, TLS);
    const port = server.triton[name]!;
    for (const version of SOUND) expect(await handshake(port, version)).toBe(version);
    for (const version of BROKEN)
      expect(await handshake(port, version)).toMatch(/alert protocol version|unsupported protocol/);
  });
});
