// The host that a request names: what cannot be one is refused, and so is one that is not listed, on every port.
import { describe, expect, it, vi } from 'vitest';

import type { Triton, TritonConfig } from 'tstriton';

import { framed, rawGrpcCall } from '../support/raw-grpc.js';
import { RawConnection } from '../support/raw-http.js';
import { startServer } from '../support/start-server.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const LIVE = '/inference.GRPCInferenceService/ServerLive';

function bind(triton: Triton): void {
  triton.bind({ modelName: 'm', inferFunc: (requests) => requests, inputs: { x: FLOATS }, outputs: { y: FLOATS } });
}

/** The status and the body of the answer to a request with that line and that host; without one none is sent. */
async function ask(port: number | undefined, line: string, host: string | undefined): Promise<string> {
  await using connection = await RawConnection.open(port!);
  await connection.send(`${line}\r\n${host === undefined ? '' : `Host: ${host}\r\n`}Content-Length: 0\r\n\r\n`);
  const answer = await connection.answer();
  return `${answer?.status} ${answer?.body.toString('latin1')}`;
}

/** The status of HTTP of a call with these pseudo-headers. */
async function statusOf(grpc: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  return (await rawGrpcCall(grpc, LIVE, framed(Buffer.alloc(0)), headers)).headers[':status'];
}

async function callOf(grpc: string, authority: string): Promise<string> {
  const { status } = await rawGrpcCall(grpc, LIVE, framed(Buffer.alloc(0)), { ':authority': authority });
  return `${status.code} ${status.message}`;
}

describe.each([{ serverThread: true }, { serverThread: false }])('with %o', (mode) => {
  it('answers whatever can be a host, and nothing else', async () => {
    await using server = await startServer(bind, mode);
    const { httpPort, metricsPort } = server.triton;
    for (const host of ['h', '', '[::1]:8000', 'a_b.example:99', '%41']) {
      expect(await ask(httpPort, 'GET /v2/health/live HTTP/1.1', host)).toBe('200 ');
    }
    const refusal = '400 {"error":"malformed HTTP request: invalid Host header"}';
    for (const host of ['a b', '<script>', 'user@h', 'h/x', '[::1', 'h:x']) {
      expect(await ask(httpPort, 'GET /v2/health/live HTTP/1.1', host)).toBe(refusal);
      expect(await ask(metricsPort, 'GET /metrics HTTP/1.1', host)).toBe(refusal);
    }
    for (const authority of ['h', '[::1]:1', '10.0.0.1:80,10.0.0.2:80']) {
      expect(await callOf(server.grpc, authority)).toBe('0 ');
    }
    for (const authority of ['a b', '<script>', 'user@h', 'h:x', 'h,<b>']) {
      expect(await statusOf(server.grpc, { ':authority': authority })).toBe(400);
    }
    expect(await statusOf(server.grpc, { ':authority': 'h', host: 'H' })).toBe(200);
    expect(await statusOf(server.grpc, { ':authority': 'h', host: 'other' })).toBe(400);
  });

  it('answers the listed hosts, addresses and localhost on every port', async () => {
    vi.stubEnv('AIP_PREDICT_ROUTE', '/predict');
    vi.stubEnv('AIP_HEALTH_ROUTE', '/health');
    const config: TritonConfig = {
      ...mode,
      allowedHosts: ['models.example', '.in.example'],
      corsAllowOrigin: '*',
      allowSagemaker: true,
      sagemakerPort: 0,
      allowVertexAi: true,
      vertexAiPort: 0,
    };
    await using server = await startServer(bind, config);
    const { httpPort, metricsPort, sagemakerPort, vertexAiPort } = server.triton;
    const refusal = (host: string) => `403 {"error":"host '${host}' is not answered, see the option allowedHosts"}`;
    for (const [port, path] of [
      [httpPort, '/v2/health/live'],
      [metricsPort, '/metrics'],
      [sagemakerPort, '/ping'],
      [vertexAiPort, '/health'],
    ] as const) {
      const line = `GET ${path} HTTP/1.1`;
      for (const host of [
        'models.example:80',
        'MODELS.example.',
        'a.in.example',
        '127.0.0.1:1',
        '[::1]',
        'localhost',
      ]) {
        expect(await ask(port, line, host)).toMatch(/^200 /);
      }
      for (const host of ['rebound.example', 'example', '']) expect(await ask(port, line, host)).toBe(refusal(host));
      expect(await ask(port, `GET ${path} HTTP/1.0`, undefined)).toBe(refusal(''));
      // The host of a whole URL is the one that counts.
      expect(await ask(port, `GET http://rebound.example${path} HTTP/1.1`, 'localhost')).toBe(
        refusal('rebound.example'),
      );
      expect(await ask(port, `GET http://localhost${path} HTTP/1.1`, 'rebound.example')).toMatch(/^200 /);
    }
    expect(await ask(httpPort, 'OPTIONS /v2/models/m/infer HTTP/1.1', 'rebound.example')).toBe(
      refusal('rebound.example'),
    );
    for (const authority of ['models.example:80', 'x.in.example', '127.0.0.1:1', 'localhost', '10.0.0.1:1,[::1]:2']) {
      expect(await callOf(server.grpc, authority)).toBe('0 ');
    }
    for (const [authority, host] of [
      ['rebound.example:80', 'rebound.example:80'],
      ['localhost,rebound.example', 'rebound.example'],
    ] as const) {
      expect(await callOf(server.grpc, authority)).toBe(
        `7 host '${host}' is not answered, see the option allowedHosts`,
      );
    }
  });
});

it('takes the header of HTTP/1.1 for the host over HTTP/2 where there is no other', async () => {
  await using server = await startServer(bind, { allowedHosts: ['models.example'] });
  const codeOf = async (host: string) => {
    const { status } = await rawGrpcCall(server.grpc, LIVE, framed(Buffer.alloc(0)), { host });
    return status.code;
  };
  expect([await codeOf('models.example'), await codeOf('rebound.example')]).toEqual([0, 7]);
});
