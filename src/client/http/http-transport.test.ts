import { getEventListeners, once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  answerInfer,
  answerJson,
  bytesOf,
  readInfer,
  startHttp,
  startTcp,
  type HttpRequest,
} from '../../../test/support/fake-servers.js';
import { selfSignedCertificate } from '../../../test/support/self-signed-certificate.js';
import { defineModel } from '../../model/callable.js';
import { ModelClient } from '../model-client.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
const X = Float32Array.of(1, 2.5);

afterEach(() => void vi.useRealTimers());

/** Answers the input as the output. */
function echo(request: HttpRequest, response: Parameters<Parameters<typeof startHttp>[0]>[1]): void {
  const { json, blobs } = readInfer(request);
  answerInfer(response, [{ name: 'y', datatype: 'FP32', shape: json.inputs[0]!.shape, bytes: blobs[0]! }]);
}

/**
 * A server in a thread of its own, which closes each connection a good while after its answer; `flag` is set then. It sends no
 * Keep-Alive header.
 */
async function startHttpThread(flag: Int32Array): Promise<AsyncDisposable & { readonly authority: string }> {
  const worker = new Worker(
    `const { workerData: flag, parentPort } = require('node:worker_threads');
    const server = require('node:net').createServer((socket) => {
      let received = Buffer.alloc(0);
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        received = Buffer.concat([received, chunk]);
        const head = received.indexOf('\\r\\n\\r\\n') + 4;
        if (head < 4) return;
        const json = Number(/inference-header-content-length: (\\d+)/i.exec(received.toString('latin1', 0, head))[1]);
        const length = Number(/\\ncontent-length: (\\d+)/i.exec(received.toString('latin1', 0, head))[1]);
        if (received.length < head + length) return;
        const tensor = received.subarray(head + json, head + length);
        const text = JSON.stringify({ outputs: [{ name: 'y', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } }] });
        socket.write('HTTP/1.1 200 OK\\r\\ncontent-length: ' + (text.length + 8) +
          '\\r\\ninference-header-content-length: ' + text.length + '\\r\\n\\r\\n' + text);
        socket.write(tensor);
        setTimeout(() => {
          socket.once('close', () => { Atomics.store(flag, 0, 1); Atomics.notify(flag, 0); });
          socket.destroy();
        }, 150);
      });
    });
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
    { eval: true, workerData: flag },
  );
  const [port] = (await once(worker, 'message')) as [number];
  return {
    authority: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}

describe('ModelClient over HTTP', () => {
  it('sends JSON and binary tensors with their lengths, and asks for binary outputs', async () => {
    const seen: HttpRequest[] = [];
    await using server = await startHttp((request, response) => {
      seen.push(request);
      echo(request, response);
    });
    await using client = new ModelClient(server.authority, double, {
      headers: { Authorization: 'Bearer t', 'X-A': 'client' },
    });
    const { y } = await client.inferSample(
      { x: X },
      {
        requestId: 'id "1"',
        parameters: { temperature: 0.5, top: 3, on: true, name: 'é', big: 2n ** 60n },
        headers: { 'x-a': 'call' },
      },
    );
    expect(y!.data).toEqual(X);
    expect(y!.shape).toEqual([2]);
    const [request] = seen;
    expect(request).toMatchObject({ method: 'POST', path: '/v2/models/Double/infer' });
    expect(request!.headers).toMatchObject({
      authorization: 'Bearer t',
      'x-a': 'call',
      'content-type': 'application/octet-stream',
      'content-length': String(request!.body.length),
    });
    const { json, blobs, end } = readInfer(request!);
    expect(json).toEqual({
      id: 'id "1"',
      parameters: { temperature: 0.5, top: 3, on: true, name: 'é', big: Number(2n ** 60n), binary_data_output: true },
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } }],
    });
    expect(request!.body.toString('latin1')).toContain(`"big":${2n ** 60n}`);
    expect(Buffer.concat(blobs)).toEqual(Buffer.from(bytesOf(X)));
    expect(end).toBe(request!.body.length);
  });

  it('asks for the named outputs only, of the stated version, below the prefix of the URL', async () => {
    const seen: HttpRequest[] = [];
    await using server = await startHttp((request, response) => {
      seen.push(request);
      echo(request, response);
    });
    await using client = new ModelClient(`http://${server.authority}/a/b/`, { ...double, modelVersion: 3 });
    await client.inferSample({ x: X }, { outputs: ['y'] });
    expect(seen[0]!.path).toBe('/a/b/v2/models/Double/versions/3/infer');
    expect(readInfer(seen[0]!).json).toMatchObject({ outputs: [{ name: 'y', parameters: { binary_data: true } }] });
    expect(readInfer(seen[0]!).json.parameters).toBeUndefined();
  });

  it('carries 20 MB each way over one kept connection', async () => {
    await using server = await startHttp(echo);
    await using client = new ModelClient(server.authority, double);
    const x = new Float32Array(5_000_000).map((_, i) => i);
    for (let call = 0; call < 2; call++) {
      const { y } = await client.inferSample({ x });
      expect(Buffer.compare(bytesOf(y!.data), bytesOf(x))).toBe(0);
    }
    expect(server.connections).toHaveLength(1);
  });

  it('rejects with the message of the server and the code of its status', async () => {
    await using server = await startHttp((_, response) =>
      answerJson(response, 503, { error: 'Exceeds maximum queue size' }),
    );
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      name: 'TritonError',
      code: 'UNAVAILABLE',
      message: 'Exceeds maximum queue size',
    });
  });

  it('rejects with INTERNAL when the answer makes no sense', async () => {
    await using server = await startHttp((_, response) => response.end('<html>'));
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'malformed response of the server: failed to parse the JSON: Invalid value. at 0, got "<html>"',
    });
  });

  it('reads an early answer while its own large body is refused, and goes on', async () => {
    let refuse = true;
    await using server = await startTcp((socket) => {
      socket.once('data', () => {
        const body = refuse ? '{"error":"too large"}' : '{"outputs":[]}';
        refuse = false;
        socket.end(`HTTP/1.1 ${body.includes('error') ? 413 : 200} X\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        socket.resume();
      });
    });
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: new Float32Array(2_000_000) })).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: 'too large',
    });
    await expect(client.inferSample({ x: X })).resolves.toEqual({});
  });

  it.each([false, true])(
    'says that the answer is compressed, with a model whose decoupled is %s',
    async (decoupled) => {
      await using server = await startHttp((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
        response.end(gzipSync('data: {}\n\n'));
      });
      await using client = new ModelClient(server.authority, { ...double, config: { decoupled } });
      await expect(client.streamSample({ x: X }).next()).rejects.toMatchObject({
        code: 'UNKNOWN',
        message: `http://${server.authority} answered with HTTP status 200 in the content encoding gzip, which the client did not ask for`,
      });
    },
  );

  it('says where it is redirected to', async () => {
    await using server = await startHttp((_, response) => response.writeHead(301, { location: '/elsewhere' }).end());
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNKNOWN',
      message: expect.stringContaining('a redirect to /elsewhere, which is not followed') as string,
    });
  });

  it('says where it could not connect', async () => {
    const server = await startTcp(() => {});
    await server[Symbol.asyncDispose]();
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `http://${server.authority} is not available: connection refused`,
    });
  });

  it('says so when the port speaks no HTTP', async () => {
    await using server = await startTcp((socket) => void socket.end(Buffer.from('00000604000000000000', 'hex')));
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(
        /does not answer in HTTP \(no status line of HTTP\/1\.1 or HTTP\/1\.0\); is it another server's port\?$/,
      ),
    });
  });

  it('closes the connection when the deadline passes, and works afterwards', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let silent = true;
    const closed: Promise<unknown>[] = [];
    await using server = await startHttp((request, response) => {
      if (!silent) return echo(request, response);
      silent = false;
      closed.push(once(request.socket, 'close'));
      vi.advanceTimersByTime(60_000);
    });
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X }, { timeoutMs: 60_000 })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: `deadline of 60000 ms exceeded for model 'Double' at http://${server.authority}`,
    });
    await closed[0];
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
  });

  it('leaves all kept connections when nothing came on one of them until the deadline', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const held: (() => void)[] = [];
    let isGone = false;
    await using server = await startHttp((request, response) => {
      // The first connections are dead now, and nobody knows.
      if (isGone && server.connections.indexOf(request.socket) < 2) return void vi.advanceTimersByTime(60_000);
      held.push(() => echo(request, response));
      if (isGone || held.length === 2) for (const answer of held.splice(0)) answer();
    });
    await using client = new ModelClient(server.authority, double);
    await Promise.all([client.inferSample({ x: X }), client.inferSample({ x: X })]);
    isGone = true;
    await expect(client.inferSample({ x: X }, { timeoutMs: 60_000 })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
    expect(server.connections).toHaveLength(3);
  });

  it('closes the connection when the signal aborts, and leaves no listener on it', async () => {
    const controller = new AbortController();
    const closed: Promise<unknown>[] = [];
    await using server = await startHttp((request) => {
      closed.push(once(request.socket, 'close'));
      controller.abort('enough');
    });
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X }, { signal: controller.signal })).rejects.toMatchObject({
      code: 'CANCELLED',
      cause: 'enough',
    });
    await closed[0];
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    await expect(client.inferSample({ x: X }, { signal: controller.signal })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    expect(closed).toHaveLength(1);
  });

  // The server closes idle connections, as all do; the client learns of it too late. Or the server died over the request.
  it('sends once more, over a new connection, what a kept connection swallowed, if it may be executed twice', async () => {
    let requests = 0;
    await using server = await startHttp((request, response) => {
      if (++requests % 3 === 2) request.socket.destroy();
      else echo(request, response);
    });
    await using client = new ModelClient(server.authority, double, { retry: { maxAttempts: 1, idempotent: true } });
    await client.inferSample({ x: X });
    const { y } = await client.inferSample({ x: X });
    expect(y!.data).toEqual(X);
    expect(requests).toBe(3);
    expect(server.connections).toHaveLength(2);
    await client.inferSample({ x: X });
    const once = client.inferSample({ x: X }, { retry: { idempotent: false } });
    await expect(once).rejects.toMatchObject({ name: 'TritonConnectionError', requestSent: true });
    expect(requests).toBe(5);
  });

  it('learns that the server has closed an idle connection before it uses it again', async () => {
    const flag = new Int32Array(new SharedArrayBuffer(4));
    await using server = await startHttpThread(flag);
    await using client = new ModelClient(server.authority, double);
    await client.inferSample({ x: X });
    // This thread sees nothing of the server's doings meanwhile, so that the next call comes before the news.
    Atomics.wait(flag, 0, 0);
    const { y } = await client.inferSample({ x: X });
    expect(y!.data).toEqual(X);
  });

  it('opens a new connection when the server closed the kept one', async () => {
    await using server = await startHttp(echo);
    await using client = new ModelClient(server.authority, double);
    await client.inferSample({ x: X });
    const [connection] = server.connections;
    connection!.end();
    await once(connection!, 'close');
    await client.inferSample({ x: X });
    expect(server.connections).toHaveLength(2);
  });

  it('does not send again what a new connection swallowed', async () => {
    let requests = 0;
    await using server = await startHttp((request) => {
      requests++;
      request.socket.destroy();
    });
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `http://${server.authority} is not available: connection lost`,
    });
    expect(requests).toBe(1);
  });

  it('does not send again what was answered in part', async () => {
    let requests = 0;
    await using server = await startHttp((request, response) => {
      if (++requests === 1) return echo(request, response);
      response.writeHead(200, { 'content-length': 100 });
      response.write('{', () => request.socket.destroy());
    });
    await using client = new ModelClient(server.authority, double);
    await client.inferSample({ x: X });
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(requests).toBe(2);
  });

  it('does not keep the process alive while it is idle', async () => {
    const count = (kind: string) => process.getActiveResourcesInfo().filter((name) => name === kind).length;
    const timers = count('Timeout');
    await using server = await startHttp(echo);
    await using client = new ModelClient(server.authority, double);
    await client.inferSample({ x: X });
    for (const connection of server.connections) connection.unref();
    await new Promise((resolve) => setImmediate(resolve));
    expect(count('TCPSocketWrap')).toBe(0);
    // Those of before may have ended.
    expect(count('Timeout')).toBeLessThanOrEqual(timers);
  });

  it('says that the server may not trust its certificate', async () => {
    const [certificate, own, trusted] = [selfSignedCertificate(), selfSignedCertificate(), selfSignedCertificate()];
    const server = createHttpsServer({ ...certificate, ca: trusted.cert, requestCert: true }, (_, response) =>
      response.end(),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://localhost:${(server.address() as AddressInfo).port}`;
    await using client = new ModelClient(url, double, { tls: { ca: certificate.cert, ...own } });
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      name: 'TritonConnectionError',
      message: `${url} is not available: connection lost before a word of the server; does it trust the certificate in tls.cert?`,
    });
    await new Promise((resolve) => server.close(resolve));
  });

  it('trusts the given authority over https, and no stranger without it', async () => {
    const certificate = selfSignedCertificate();
    const server = createHttpsServer(certificate, (request, response) => {
      request.resume();
      request.on('end', () => answerInfer(response, []));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await using trusting = new ModelClient(url, double, { tls: { ca: certificate.cert } });
      await expect(trusting.inferSample({ x: X })).resolves.toEqual({});
      await using wary = new ModelClient(url, double);
      await expect(wary.inferSample({ x: X })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: `${url} is not available: self-signed certificate; to trust it, give it in tls.ca`,
      });
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
