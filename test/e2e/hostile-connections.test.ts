// Clients that hold on to connections, streams and heads without asking for anything, beside a good client: they cost it nothing, and
// the server holds no more of them than its budget.
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request, type Agent } from 'node:https';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { ModelClient } from 'tstriton/client';
import type { TritonConfig } from 'tstriton';
import { framed } from '../support/raw-grpc.js';
import { encodeHeaders, FLAG, FRAME, RawHttp2 } from '../support/raw-http2.js';
import { selfSignedCertificate } from '../support/self-signed-certificate.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const MIB = 1 << 20;
const PLACES = 20;
const WAIT = { timeout: 20_000 };
const STREAM_INFER = '/inference.GRPCInferenceService/ModelStreamInfer';

function start(config: TritonConfig): Promise<RunningServer> {
  return startServer((triton) => {
    triton.bind({
      modelName: 'echo',
      inputs: { x: { dtype: 'float32', shape: [-1] } },
      outputs: { y: { dtype: 'float32', shape: [-1] } },
      config: { batching: false },
      inferFunc: (requests) => requests,
    });
    triton.bind({
      modelName: 'endless',
      inputs: { x: { dtype: 'float32', shape: [-1] } },
      outputs: { y: { dtype: 'float32', shape: [-1] } },
      config: { batching: false, decoupled: true, concurrency: 1000 },
      async *inferFunc([request]) {
        yield [{ y: request!.inputs.x.data }];
        await once(request!.signal, 'abort');
      },
    });
  }, config);
}

const portOf = (url: string) => Number(new URL(url).port);

function headOf(path: string, filler = 0): Buffer {
  return encodeHeaders([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'h'],
    ['content-type', 'application/grpc'],
    ...(filler > 0 ? [['x', 'f'.repeat(filler)] as const] : []),
  ]);
}

/** A connection with open streams to which nothing is sent but their heads. */
async function openStreams(server: RunningServer, count: number, filler = 0): Promise<RawHttp2> {
  const client = await RawHttp2.open(portOf(server.grpc));
  for (let i = 0; i < count; i++) {
    // Each block is another one: equal blocks share their fields.
    const payload = headOf(STREAM_INFER, filler > 0 ? filler + i : 0);
    client.send({ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 2 * i + 1, payload });
  }
  return client;
}

/** Asks over both wires with several sizes, and expects each answer to be that of its request. */
async function servesOn(server: RunningServer, seed: number): Promise<void> {
  for (const url of [server.http, server.grpc]) {
    await using client = new ModelClient(url, 'echo', { retry: false });
    for (const length of [1, 300, 40_000]) {
      const x = Float32Array.from({ length: length + seed }, (_, i) => i * seed);
      expect((await client.inferSample({ x })).y!.data).toEqual(x);
    }
  }
}

/** ModelInferRequest with one input. */
function inferMessage(model: string, x: Float32Array): Buffer {
  const field = (number: number, content: Buffer | string) => {
    const value = Buffer.from(content);
    return Buffer.concat([Buffer.of(number * 8 + 2, value.length), value]);
  };
  const input = Buffer.concat([field(1, 'x'), field(2, 'FP32'), field(3, Buffer.of(x.length))]);
  return Buffer.concat([field(1, model), field(5, input), field(7, Buffer.from(x.buffer))]);
}

const LISTEN: Readonly<Record<'http' | 'grpc', (server: RunningServer, number: number) => Promise<Disposable>>> = {
  async http(server, number) {
    const socket = connect(portOf(server.http), '127.0.0.1').on('error', () => undefined);
    const body = JSON.stringify({ x: [number] });
    socket.write(
      `POST /v2/models/endless/generate_stream HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    return { [Symbol.dispose]: () => void socket.destroy() };
  },
  async grpc(server, number) {
    const client = await openStreams(server, 1);
    client.send({ type: FRAME.DATA, stream: 1, payload: framed(inferMessage('endless', Float32Array.of(number))) });
    await client.until(() => client.countOf(FRAME.DATA) > 0);
    return client;
  },
};

/** What a client at another address of this machine gets for `x`. */
const ASK_FROM: Readonly<Record<'http' | 'grpc', (server: RunningServer, x: Float32Array) => Promise<Buffer>>> = {
  async http(server, x) {
    const head = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [x.length], parameters: { binary_data_size: x.byteLength } }],
      parameters: { binary_data_output: true },
    });
    const headers = { 'Inference-Header-Content-Length': head.length };
    const asked = httpRequest(`${server.http}/v2/models/echo/infer`, {
      method: 'POST',
      localAddress: '127.0.0.2',
      agent: false,
      headers,
    });
    asked.end(Buffer.concat([Buffer.from(head), Buffer.from(x.buffer)]));
    const [answer] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece);
    return Buffer.concat(pieces).subarray(-x.byteLength);
  },
  async grpc(server, x) {
    const session = connectHttp2(server.grpc.replace('grpc', 'http'), {
      createConnection: () => connect({ port: portOf(server.grpc), host: '127.0.0.1', localAddress: '127.0.0.2' }),
    });
    try {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/inference.GRPCInferenceService/ModelInfer',
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      stream.end(framed(inferMessage('echo', x)));
      const pieces: Buffer[] = [];
      for await (const piece of stream) pieces.push(piece as Buffer);
      return Buffer.concat(pieces).subarray(-x.byteLength);
    } finally {
      session.destroy();
    }
  },
};

describe.each([{ serverThread: true }, { serverThread: false }])('hostile connections, with %o', (mode) => {
  it('hold heads of streams within the budget', async () => {
    // Fourteen megabytes for all that is more than 16 kB, of which a connection has at most half.
    await using server = await start({ ...mode, maxInflightBytes: 16 * MIB });
    const clients = await Promise.all([openStreams(server, 500, 60_000), openStreams(server, 500, 59_000)]);
    try {
      const refused = () => clients.map((one) => one.frames.filter(({ type }) => type === FRAME.RST_STREAM).length);
      const least = 500 - Math.floor((7 * MIB) / 59_000);
      await expect.poll(() => Math.min(...refused()), WAIT).toBeGreaterThanOrEqual(least);
      await servesOn(server, 1);
    } finally {
      for (const one of clients) one[Symbol.dispose]();
    }
  });

  it('hold heads of HTTP within the budget, whole ones and others', async () => {
    await using server = await start({ ...mode, maxInflightBytes: 16 * MIB });
    const filler = 'f'.repeat(15_000);
    const sockets: Socket[] = [];
    let ended = 0;
    for (let i = 0; i < 300; i++) {
      const socket = connect(portOf(server.http), '127.0.0.1').on('error', () => undefined);
      socket.resume().on('close', () => ended++);
      const rest = i % 2 === 0 ? '' : '\r\nContent-Length: 10\r\n\r\n';
      socket.write(`POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nX: ${i}${filler}${rest}`);
      sockets.push(socket);
    }
    try {
      await expect.poll(() => ended, WAIT).toBeGreaterThan(30);
      await servesOn(server, 2);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('hold messages behind others of a stream within the budget', async () => {
    await using server = await start({ ...mode, maxInflightBytes: 64 * MIB });
    const clients = await Promise.all(Array.from({ length: 8 }, () => openStreams(server, 8)));
    try {
      // None of them ends: a message of 3 MiB of which the last byte is missing.
      const message = framed(Buffer.alloc(3 * MIB)).subarray(0, -1);
      for (const one of clients) {
        for (let i = 0; i < 8; i++) {
          for (let at = 0; at < message.length; at += 16_384)
            one.send({ type: FRAME.DATA, stream: 2 * i + 1, payload: message.subarray(at, at + 16_384) });
        }
      }
      // 192 MiB do not fit into 56.
      const refusals = () => clients.reduce((sum, one) => sum + one.countOf(FRAME.RST_STREAM), 0);
      await expect.poll(refusals, WAIT).toBeGreaterThan(30);
      await servesOn(server, 3);
    } finally {
      for (const one of clients) one[Symbol.dispose]();
    }
  });

  it('have no places for streams that wait for their clients, when others need them', async () => {
    await using server = await start({ ...mode, maxConnections: PLACES });
    const clients = await Promise.all(Array.from({ length: PLACES }, () => openStreams(server, 3)));
    try {
      await expect.poll(() => servesOn(server, 4).then(() => 'served', String), WAIT).toBe('served');
    } finally {
      for (const one of clients) one[Symbol.dispose]();
    }
  });

  it.each(['http', 'grpc'] as const)(
    'with endless streams of one address over %s leave places to others',
    async (wire) => {
      await using server = await start({ ...mode, maxConnections: PLACES });
      const held = await Promise.all(Array.from({ length: 3 * PLACES }, (_, i) => LISTEN[wire](server, i)));
      try {
        for (const [seed, asking] of (['http', 'grpc'] as const).entries()) {
          const x = Float32Array.from({ length: 20 + seed }, (_, i) => i + 100 * seed);
          expect(await ASK_FROM[asking](server, x)).toEqual(Buffer.from(x.buffer));
        }
      } finally {
        for (const one of held) one[Symbol.dispose]();
      }
    },
  );

  it('have no places for requests that do not come, when others need them', async () => {
    await using server = await start({ ...mode, maxConnections: PLACES });
    const sockets = Array.from({ length: PLACES }, () => connect(portOf(server.http), '127.0.0.1').resume());
    for (const [i, socket] of sockets.entries()) {
      socket.on('error', () => undefined);
      socket.write(`POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nContent-Length: ${1000 + i}\r\n\r\nx`);
    }
    try {
      await expect.poll(() => servesOn(server, 5).then(() => 'served', String), WAIT).toBe('served');
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });
});

describe.each([{ serverThread: true }, { serverThread: false }])('hostile handshakes of TLS, with %o', (mode) => {
  async function startSecure() {
    const folder = mkdtempSync(join(tmpdir(), 'tstriton-handshakes-'));
    const { cert, key } = selfSignedCertificate();
    const [httpServerCert, httpServerKey] = ['cert.pem', 'key.pem'].map((name) => join(folder, name)) as [
      string,
      string,
    ];
    writeFileSync(httpServerCert, cert);
    writeFileSync(httpServerKey, key);
    const server = await start({ ...mode, maxConnections: PLACES, httpUseSsl: true, httpServerCert, httpServerKey });
    const port = server.triton.httpPort!;
    const ask = (agent: Agent | false = false) =>
      new Promise<number>((resolve) => {
        const asked = request(
          { host: '127.0.0.1', port, path: '/v2/health/ready', agent, rejectUnauthorized: false },
          (answer) => answer.resume().on('end', () => resolve(answer.statusCode!)),
        );
        asked.on('error', () => resolve(0)).end();
      });
    const stop = async () => {
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    };
    return { server, port, ask, [Symbol.asyncDispose]: stop };
  }

  it('take places, which go to others', async () => {
    await using secure = await startSecure();
    let ended = 0;
    const sockets = Array.from({ length: 100 }, () =>
      connect(secure.port, '127.0.0.1')
        .resume()
        .on('error', () => undefined)
        .on('close', () => ended++),
    );
    try {
      // No more than there are places, and some for health checks.
      await expect.poll(() => ended, WAIT).toBeGreaterThanOrEqual(100 - PLACES - 16);
      await expect.poll(() => secure.ask(), WAIT).toBe(200);
      const { grpc } = secure.server;
      await using client = new ModelClient(grpc, 'echo', { retry: false });
      await expect
        .poll(() => client.inferSample({ x: Float32Array.of(1, 2) }).then(({ y }) => [...y!.data], String), WAIT)
        .toEqual([1, 2]);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('end with the client that closes its half, as probes of TCP do', async () => {
    await using secure = await startSecure();
    const probe = connect({ port: secure.port, host: '127.0.0.1', allowHalfOpen: true });
    await once(probe, 'connect');
    const closed = once(probe.resume(), 'end');
    probe.end();
    await closed;
    expect(await secure.ask()).toBe(200);
  });
});
