// A load generator that overlooks failures makes a broken server look fast: these runs are against servers that answer
// rightly, wrongly, or not at all.
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { runLoad } from '../../bench/load/load-run.js';
import type { LoadTarget } from '../../bench/load/load-run.js';
import type { LoadReport } from '../../bench/load/load-window.js';
import { modelInfer } from '../../bench/real-clients.js';

const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** As long as this machine needs for so many answers, or for an error of each connection. */
async function run(target: LoadTarget, answers = 1): Promise<LoadReport> {
  for (let seconds = 0.05; ; seconds *= 2) {
    const report = await runLoad({ target, leadInSeconds: 0.01, seconds }, () => undefined);
    if (report.requests >= answers || report.errors >= target.connections) return report;
  }
}

async function httpTarget(listener: RequestListener, bodies = ['hi']): Promise<LoadTarget> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const exchanges = bodies.map((body) => {
    return {
      request: Buffer.from(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n${body}`),
      expected: Buffer.from(body),
    };
  });
  return { protocol: 'http', port, connections: 3, exchanges };
}

const answering =
  (code: number, body: string) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    request.on('end', () => response.writeHead(code, { 'content-length': body.length }).end(body));
  };

type UnaryHandler = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => void;

async function grpcTarget(handler: UnaryHandler, size = 100, fills = ['m']): Promise<LoadTarget> {
  const server = new Server();
  server.addService({ ModelInfer: modelInfer }, { ModelInfer: handler });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  closers.push(() => server.forceShutdown());
  const exchanges = fills.map((fill) => ({ message: Buffer.alloc(size, fill), expected: Buffer.alloc(size, fill) }));
  const { path } = modelInfer;
  return { protocol: 'grpc', port, connections: 2, streams: 8, path, exchanges };
}

describe('a load run over HTTP', () => {
  it('counts what a node:http server answers, without errors', async () => {
    const report = await run(await httpTarget(answering(200, 'hi')));
    expect(report).toMatchObject({ errors: 0, firstError: undefined });
    expect(report.p50).toBeGreaterThan(0);
    expect(report.p50).toBeLessThanOrEqual(report.p99);
    expect(report.p99).toBeLessThanOrEqual(report.max);
  });

  it.each([
    ['another status', 500, 'hi', 'status 500'],
    ['another length', 200, 'hi!', 'a body of 3 bytes, not 2'],
    ['another body', 200, 'ho', 'a body other than the one expected'],
  ])('counts %s as an error on each connection', async (_, code, body, reason) => {
    expect(await run(await httpTarget(answering(code, body)))).toMatchObject({
      requests: 0,
      errors: 3,
      firstError: reason,
    });
  });

  it('sends its requests in turns, and sees the answer to another one', async () => {
    const bodies = ['ab', 'cd', 'ef'];
    const seen = new Set<string>();
    const echo: RequestListener = (request, response) => {
      request.on('data', (chunk: Buffer) => {
        seen.add(chunk.toString());
        response.writeHead(200, { 'content-length': 2 }).end(chunk);
      });
    };
    expect(await run(await httpTarget(echo, bodies), 30)).toMatchObject({ errors: 0 });
    expect([...seen].sort()).toEqual(bodies);
    const swapped = await run(await httpTarget(answering(200, 'ab'), bodies));
    expect(swapped).toMatchObject({ errors: 3, firstError: 'a body other than the one expected' });
  });

  it('counts connections that the server closes', async () => {
    const report = await run(await httpTarget((request) => request.socket.destroy()));
    expect(report).toMatchObject({ requests: 0, errors: 3 });
  });
});

describe('a load run over gRPC', () => {
  const echo: UnaryHandler = (call, callback) => callback(null, call.request);

  it('counts what a grpc-js server answers, without errors', async () => {
    const report = await run(await grpcTarget(echo));
    expect(report).toMatchObject({ errors: 0, firstError: undefined });
  });

  it('sends its messages in turns, and sees the answer to another one', async () => {
    const fills = ['a', 'b', 'c'];
    expect(await run(await grpcTarget(echo, 100, fills), 30)).toMatchObject({ errors: 0 });
    const constant: UnaryHandler = (_, callback) => callback(null, Buffer.alloc(100, 'a'));
    const swapped = await run(await grpcTarget(constant, 100, fills), 1_000_000);
    expect(swapped).toMatchObject({ errors: 2, firstError: 'a message other than the one expected' });
  });

  it('waits for the window of a connection that it has filled', async () => {
    // Eight messages of 16 000 bytes are twice what a fresh connection may send.
    const report = await run(await grpcTarget(echo, 16_000), 9);
    expect(report).toMatchObject({ errors: 0, firstError: undefined });
  });

  it('counts a call that fails as an error', async () => {
    const report = await run(await grpcTarget((_, callback) => callback({ code: status.INTERNAL, details: 'no' })));
    expect(report.requests).toBe(0);
    expect(report.errors).toBe(2);
    expect(report.firstError).toContain('an answer of 0 bytes, expected 105');
  });

  it('counts an answer of another length, and one of other bytes', async () => {
    const longer = await run(await grpcTarget((_, callback) => callback(null, Buffer.alloc(101))));
    expect(longer).toMatchObject({ requests: 0, errors: 2 });
    const other = await run(await grpcTarget((_, callback) => callback(null, Buffer.alloc(100))));
    expect(other).toMatchObject({ requests: 0, errors: 2, firstError: 'a message other than the one expected' });
  });
});

async function largeTarget(answer: (message: Buffer) => Buffer): Promise<LoadTarget> {
  const server = createTcpServer((socket) => {
    let received = Buffer.alloc(0);
    closers.push(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 4 || received.length - 4 < received.readUInt32LE(0)) return;
      socket.write(answer(received.subarray(4)));
      received = received.subarray(0, 4);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { protocol: 'large', wire: 'socket', port, connections: 2, bytes: 100_000 };
}

describe('a load run of large messages', () => {
  it('counts what comes back as it was sent', async () => {
    const report = await run(await largeTarget((message) => message));
    expect(report.errors).toBe(0);
    expect(report.requests).toBeGreaterThan(0);
  });

  it('sees other bytes, and more of them', async () => {
    const other = await run(await largeTarget((message) => Buffer.alloc(message.length)));
    expect(other.firstError).toBe('other bytes than were sent');
    const more = await run(await largeTarget((message) => Buffer.concat([message, message])));
    expect(more.firstError).toBe('other bytes than were sent');
  });
});
