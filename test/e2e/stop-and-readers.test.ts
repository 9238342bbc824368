// A server is told to stop while clients send requests or read answers: it waits until all is answered and written, as long as
// `exitTimeoutSecs` says, and names the clients whose answers it could not write.
import { create, toBinary } from '@bufbuild/protobuf';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { describe, expect, it, vi } from 'vitest';

import { defineModel, type TritonConfig } from 'tstriton';

import { ModelInferRequestSchema } from '../support/generated/grpc_service_pb.js';
import { framed } from '../support/raw-grpc.js';
import { RawConnection } from '../support/raw-http.js';
import { encodeFrame, encodeHeaders, FLAG, FRAME, PREFACE, RawHttp2, type RawFrame } from '../support/raw-http2.js';
import { connectRemote, REMOTE } from '../support/remote.js';
import { selfSignedCertificate } from '../support/self-signed-certificate.js';
import { startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';

const file = temporaryFolder();
const certificate = selfSignedCertificate();
const HTTP_NUMBERS = 16_750_000;
const GRPC_NUMBERS = 8_000_000;
/** Longer than any test waits. */
const FOR_EVER = 1_000_000;

const counting = defineModel({
  modelName: 'Counting',
  inputs: { x: { dtype: 'int32', shape: [2] } },
  outputs: { y: { dtype: 'int32', shape: [-1] } },
});

/** Answers `[count, first]` with so many numbers from the first on. */
function numbers(count: number, first: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => first + i);
}

function bytesOf(array: Int32Array): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}

function inferRequest(count: number, first: number, more = {}): Buffer {
  const inputs = [{ name: 'x', datatype: 'INT32', shape: [1, 2], data: [count, first] }];
  const json = JSON.stringify({ inputs, parameters: { binary_data_output: true }, ...more });
  return Buffer.from(
    `POST /v2/models/Counting/infer HTTP/1.1\r\nHost: h\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
  );
}

function grpcRequest(count: number, first: number): Buffer {
  const inputs = [{ name: 'x', datatype: 'INT32', shape: [1n, 2n] }];
  const rawInputContents = [bytesOf(Int32Array.of(count, first))];
  return Buffer.from(
    toBinary(
      ModelInferRequestSchema,
      create(ModelInferRequestSchema, { modelName: 'Counting', inputs, rawInputContents }),
    ),
  );
}

/** The same as a call on a stream. */
function grpcCall(stream: number, count: number, first: number): readonly RawFrame[] {
  const head = encodeHeaders([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/inference.GRPCInferenceService/ModelInfer'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ]);
  return [
    { type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream, payload: head },
    { type: FRAME.DATA, flags: FLAG.END_STREAM, stream, payload: framed(grpcRequest(count, first)) },
  ];
}

/** The numbers at the end of the answer on a stream. */
async function grpcAnswer(client: RawHttp2, stream: number, count: number): Promise<Buffer | undefined> {
  const data = await client.frame((frame) => frame.type === FRAME.DATA && frame.stream === stream);
  return data?.payload.subarray(-4 * count);
}

/** The binary part of a whole answer. */
function binaryOf(answer: Buffer): Buffer {
  const headEnd = answer.indexOf('\r\n\r\n') + 4;
  const head = answer.toString('latin1', 0, headEnd);
  const length = Number(/\r\nContent-Length: (\d+)/.exec(head)![1]);
  const json = Number(/\r\nInference-Header-Content-Length: (\d+)/.exec(head)![1]);
  expect(answer.length).toBe(headEnd + length);
  return answer.subarray(headEnd + json);
}

/** Reads answers one by one, and nothing before it is asked to. */
class SlowClient implements AsyncDisposable {
  readonly socket: Socket;
  #pieces: Buffer[] = [];
  #bytes = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
  }

  static async open(port: number): Promise<SlowClient> {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return new SlowClient(socket);
  }

  async answer(): Promise<Buffer> {
    for (;;) {
      const length = this.#lengthOfFirst();
      if (this.#bytes >= length) {
        const all = Buffer.concat(this.#pieces);
        this.#pieces = [all.subarray(length)];
        this.#bytes = all.length - length;
        return all.subarray(0, length);
      }
      const piece = this.socket.read() as Buffer | null;
      if (piece === null) {
        const over = new AbortController();
        const more = once(this.socket, 'readable', over);
        const ended = once(this.socket, 'end', over).then(() => fail());
        await Promise.race([more, ended]).finally(() => over.abort());
      } else {
        this.#pieces.push(piece);
        this.#bytes += piece.length;
      }
    }
  }

  #lengthOfFirst(): number {
    if (this.#pieces.length > 1 && this.#pieces[0]!.length < 1000) this.#pieces = [Buffer.concat(this.#pieces)];
    const [first = Buffer.alloc(0)] = this.#pieces;
    const headEnd = first.indexOf('\r\n\r\n') + 4;
    if (headEnd < 4) return Infinity;
    return headEnd + Number(/\r\nContent-Length: (\d+)/.exec(first.toString('latin1', 0, headEnd))![1]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    return Promise.resolve();
  }
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const opened = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return opened;
}

function fail(): never {
  throw new Error('the server has closed the connection');
}

describe.each([{ serverThread: true }, { serverThread: false }])('a stop with %o', ({ serverThread }) => {
  async function start(config: TritonConfig = {}) {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const server = await startServer(
      (triton) => {
        triton.bind({
          ...counting,
          inferFunc: (requests) =>
            requests.map(({ inputs }) => {
              const [count, first] = inputs.x.data;
              return { y: numbers(count!, first!) };
            }),
          config: { maxBatchSize: 1 },
        });
      },
      { serverThread, logger: { debug: write, info: write, warn: write, error: write }, ...config },
    );
    /** Resolves when the server waits for what is under way. */
    const waits = async () => {
      await expect.poll(() => lines.some((line) => line.startsWith('Timeout '))).toBe(true);
    };
    return { server, lines, waits };
  }

  it('waits until a slow reader has an answer of 67 MB whole, over HTTP and over TLS', async () => {
    const cert = file('cert.pem');
    const key = file('key.pem');
    writeFileSync(cert, certificate.cert);
    writeFileSync(key, certificate.key);
    for (const isSecure of [false, true]) {
      const tls = { httpUseSsl: true, httpServerCert: cert, httpServerKey: key };
      const { server, waits } = await start({ exitTimeoutSecs: FOR_EVER, ...(isSecure ? tls : {}) });
      const port = server.triton.httpPort!;
      const socket: Socket = isSecure
        ? connectTls({ port, host: '127.0.0.1', ca: certificate.cert })
        : connect(port, '127.0.0.1');
      socket.write(inferRequest(HTTP_NUMBERS, 7));
      await once(socket, 'readable');
      const stopped = server.triton.stop();
      await Promise.race([waits(), stopped]);
      const pieces: Buffer[] = [];
      for await (const piece of socket) pieces.push(piece as Buffer);
      expect(binaryOf(Buffer.concat(pieces)).equals(bytesOf(numbers(HTTP_NUMBERS, 7)))).toBe(true);
      await stopped;
    }
  });

  it('answers the next requests of a client whose answer did not say that the connection closes', async () => {
    const { server, waits } = await start({ exitTimeoutSecs: FOR_EVER });
    await using client = await SlowClient.open(server.triton.httpPort!);
    client.socket.write(inferRequest(HTTP_NUMBERS, 19));
    await once(client.socket, 'readable');
    const stopped = server.triton.stop();
    await Promise.race([waits(), stopped]);
    // A client that has read its answer has half a second for them, which a busy machine may need for itself.
    client.socket.write(Buffer.concat([inferRequest(10, 23), inferRequest(20, 29), inferRequest(30, 31)]));
    const first = await client.answer();
    expect(first.toString('latin1', 0, 300)).toContain('Connection: keep-alive');
    for (const [count, from, connection] of [
      [10, 23, 'keep-alive'],
      [20, 29, 'keep-alive'],
      [30, 31, 'close'],
    ] as const) {
      const answer = await client.answer();
      expect(binaryOf(answer).equals(bytesOf(numbers(count, from)))).toBe(true);
      expect(answer.toString('latin1', 0, 300)).toContain(`Connection: ${connection}`);
    }
    await stopped;
  });

  it('waits until a slow reader has an answer of 32 MB whole over gRPC', async () => {
    const { server, waits } = await start({ exitTimeoutSecs: FOR_EVER });
    const session = connectHttp2(server.grpc.replace('grpc', 'http'));
    session.on('error', () => undefined);
    const stream: ClientHttp2Stream = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => undefined);
    let status = '';
    stream.on('trailers', (trailers) => (status = String(trailers['grpc-status'])));
    stream.end(framed(grpcRequest(GRPC_NUMBERS, 9)));
    await once(stream, 'readable');
    const stopped = server.triton.stop();
    await Promise.race([waits(), stopped]);
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(piece as Buffer);
    const message = Buffer.concat(pieces);
    expect(message.length).toBe(5 + message.readUInt32BE(1));
    expect(message.subarray(-4 * GRPC_NUMBERS).equals(bytesOf(numbers(GRPC_NUMBERS, 9)))).toBe(true);
    expect(status).toBe('0');
    session.close();
    await stopped;
  });

  it('answers a request of which half has come', async () => {
    const { server, waits } = await start({ exitTimeoutSecs: FOR_EVER });
    await using client = await RawConnection.open(server.triton.httpPort!);
    const request = inferRequest(1000, 11);
    await client.send(request.subarray(0, -20));
    // The server has read that when it has answered somebody who asked later.
    expect((await fetch(`${server.http}/v2/health/live`)).status).toBe(200);
    const stopped = server.triton.stop();
    await Promise.race([waits(), stopped]);
    await client.send(request.subarray(-20));
    const answer = await client.answer();
    expect([answer?.status, answer?.headers.get('connection')]).toEqual([200, 'close']);
    expect(answer!.body.subarray(-4000).equals(bytesOf(numbers(1000, 11)))).toBe(true);
    await stopped;
  });

  it('answers gRPC calls that cross its goodbye, until the client must have read that', async () => {
    const { server } = await start({ exitTimeoutSecs: FOR_EVER });
    using client = await RawHttp2.open(server.triton.grpcPort!);
    await client.frame(({ type }) => type === FRAME.SETTINGS);
    const stopped = server.triton.stop();
    const ping = await client.frame(({ type, flags }) => type === FRAME.PING && flags === 0);
    // As far as the server can know, this was sent before GOAWAY and PING came.
    client.send(...grpcCall(1, 10, 37));
    expect(await grpcAnswer(client, 1, 10)).toEqual(bytesOf(numbers(10, 37)));
    client.send(...grpcCall(3, 20, 41), { type: FRAME.PING, flags: FLAG.ACK, payload: ping!.payload });
    expect(await grpcAnswer(client, 3, 20)).toEqual(bytesOf(numbers(20, 41)));
    await stopped;
    const last = client.frames
      .filter(({ type }) => type === FRAME.GOAWAY)
      .map(({ payload }) => payload.readUInt32BE(0));
    expect(last).toEqual([0x7fffffff, 3]);
  });

  it('keeps the link to another process until gRPC clients must have read the goodbye', async () => {
    await using server = await startServer(() => undefined, { serverThread, ...REMOTE, exitTimeoutSecs: FOR_EVER });
    const port = server.triton.grpcPort!;
    await using remote = await connectRemote(server, (triton) =>
      triton.bind({ ...counting, inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ y: x })) }),
    );
    using client = await RawHttp2.open(port);
    await client.frame(({ type }) => type === FRAME.SETTINGS);
    const stopped = server.triton.stop();
    const ping = await client.frame(({ type, flags }) => type === FRAME.PING && flags === 0);
    while (await isOpen(port));
    // The server looks every 10 ms whether it still needs the link.
    await expect(vi.waitUntil(() => !remote.isReady, 100)).rejects.toThrow('Timed out');
    client.send(...grpcCall(1, 53, 59));
    expect(await grpcAnswer(client, 1, 2)).toEqual(bytesOf(Int32Array.of(53, 59)));
    client.send({ type: FRAME.PING, flags: FLAG.ACK, payload: ping!.payload });
    await stopped;
  });

  it('answers the first call of a gRPC client that had just connected', async () => {
    for (let attempt = 0; ; attempt++) {
      const { server } = await start({ exitTimeoutSecs: FOR_EVER });
      const port = server.triton.grpcPort!;
      using client = await RawHttp2.open(port, Buffer.alloc(0));
      const connectedAt = performance.now();
      const stopped = server.triton.stop();
      while (await isOpen(port));
      client.sendBytes(Buffer.concat([PREFACE, encodeFrame({ type: FRAME.SETTINGS })]));
      client.send(...grpcCall(1, 10, 43));
      const took = performance.now() - connectedAt;
      const answer = await grpcAnswer(client, 1, 10);
      await stopped;
      // The server waits a second for the first call. On a busy machine that may be over, and nothing is shown.
      if (answer === undefined && took > 800 && attempt < 10) continue;
      expect(answer).toEqual(bytesOf(numbers(10, 43)));
      return;
    }
  });

  it('cuts off a client that never reads when the time is over, and names it', async () => {
    const { server, lines } = await start({ exitTimeoutSecs: 1 });
    const socket = connect(server.triton.httpPort!, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(inferRequest(HTTP_NUMBERS, 13));
    await once(socket, 'readable');
    const { localPort } = socket;
    await server.triton.stop();
    const [line, ...others] = lines.filter((text) => text.includes('cut off'));
    expect(others).toEqual([]);
    const [, peer, unsent] = /^HTTPService: cut off 127\.0\.0\.1:(\d+): (\d+) bytes of its answers were not sent$/.exec(
      line!,
    )!;
    expect(Number(peer)).toBe(localPort);
    expect(Number(unsent)).toBeGreaterThan(10_000_000);
    expect(lines).toContain('Exit timeout expired: what is under way fails');
    socket.destroy();
  });

  it('does not wait when nothing is under way', async () => {
    const { server, lines } = await start({ exitTimeoutSecs: FOR_EVER });
    const socket = connect({ port: server.triton.httpPort!, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(inferRequest(10, 17));
    await once(socket, 'data');
    // It never closes its side.
    const session = connectHttp2(server.grpc.replace('grpc', 'http'));
    session.on('error', () => undefined);
    await once(session, 'remoteSettings');
    await server.triton.stop();
    expect(lines.filter((text) => /Timeout|cut off/.test(text))).toEqual([]);
    socket.destroy();
    session.destroy();
  });
});
