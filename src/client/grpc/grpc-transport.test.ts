import { loadSync } from '@grpc/proto-loader';
import * as grpc from '@grpc/grpc-js';
import { getEventListeners, once } from 'node:events';
import { constants, createSecureServer, createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  answerGrpc,
  answerGrpcInfer,
  bytesOf,
  failGrpc,
  readGrpcInfer,
  startGrpc,
  startTcp,
  type GrpcRequest,
} from '../../../test/support/fake-servers.js';
import { selfSignedCertificate } from '../../../test/support/self-signed-certificate.js';
import { defineModel } from '../../model/callable.js';
import type { CallTimings } from '../call-timings.js';
import { TritonTimeoutError } from '../client-errors.js';
import type { ModelClientOptions } from '../client-options.js';
import { ModelClient } from '../model-client.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
const X = Float32Array.of(1, 2.5);

afterEach(() => void vi.useRealTimers());

/** Answers the input as the output. */
function echo(request: GrpcRequest): void {
  const { inputs, rawInputContents } = readGrpcInfer(request);
  answerGrpcInfer(request.stream, [
    { name: 'y', datatype: 'FP32', shape: inputs[0]!.shape.map(Number), bytes: rawInputContents[0]! },
  ]);
}

/** What the nth call does; all later ones echo. */
function inTurn(...turns: ((request: GrpcRequest) => void)[]): (request: GrpcRequest) => void {
  let call = 0;
  return (request) => (turns[call++] ?? echo)(request);
}

function connect(
  server: { readonly authority: string },
  options: ModelClientOptions = {},
): ModelClient<(typeof double)['inputs'], (typeof double)['outputs']> {
  return new ModelClient(`grpc://${server.authority}`, double, options);
}

describe('ModelClient over gRPC', () => {
  it('sends raw contents, parameters, metadata and the deadline', async () => {
    const seen: GrpcRequest[] = [];
    await using server = await startGrpc((request) => {
      seen.push(request);
      echo(request);
    });
    await using client = new ModelClient(`grpc://${server.authority}`, double, {
      headers: { Authorization: 'Bearer t' },
    });
    const { y } = await client.inferSample(
      { x: X },
      {
        requestId: 'r',
        parameters: { temperature: 0.5, top: 3, on: true, name: 'é' },
        outputs: ['y'],
        timeoutMs: 30_000,
      },
    );
    expect(y!.data).toEqual(X);
    expect(y!.shape).toEqual([2]);
    const [request] = seen;
    expect(request!.method).toBe('ModelInfer');
    expect(request!.headers).toMatchObject({
      authorization: 'Bearer t',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    expect(request!.headers['grpc-timeout']).toMatch(/^(30000|29\d\d\d)m$/);
    const message = readGrpcInfer(request!);
    expect(message).toMatchObject({ modelName: 'Double', modelVersion: '', id: 'r', outputs: [{ name: 'y' }] });
    expect(message.parameters).toMatchObject({
      temperature: { parameterChoice: { case: 'doubleParam', value: 0.5 } },
      top: { parameterChoice: { case: 'int64Param', value: 3n } },
      on: { parameterChoice: { case: 'boolParam', value: true } },
      name: { parameterChoice: { case: 'stringParam', value: 'é' } },
    });
    expect(message.inputs).toMatchObject([{ name: 'x', datatype: 'FP32', shape: [1n, 2n] }]);
    expect(message.rawInputContents.map((bytes) => Buffer.from(bytes))).toEqual([Buffer.from(bytesOf(X))]);
  });

  it('carries 20 MB each way and many calls at once over one connection', async () => {
    await using server = await startGrpc(echo);
    await using client = connect(server);
    const x = new Float32Array(5_000_000).map((_, i) => i);
    const [large, ...small] = await Promise.all([
      client.inferSample({ x }),
      ...Array.from({ length: 200 }, (_, i) => client.inferSample({ x: Float32Array.of(i) })),
    ]);
    expect(Buffer.compare(bytesOf(large.y!.data), bytesOf(x))).toBe(0);
    expect(small.map(({ y }) => y!.data[0])).toEqual(Array.from({ length: 200 }, (_, i) => i));
    expect(server.connections).toHaveLength(1);
  });

  it('waits its turn when the server takes few streams at a time', async () => {
    await using server = await startGrpc(echo, { maxConcurrentStreams: 1 });
    await using client = connect(server);
    await client.inferSample({ x: X });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => client.inferSample({ x: Float32Array.of(i) })),
    );
    expect(answers.map(({ y }) => y!.data[0])).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  it('forgets a call that is aborted while it waits for its turn', async () => {
    const held: GrpcRequest[] = [];
    let calls = 0;
    await using server = await startGrpc(
      (request) => {
        // The first has the only stream, until the test lets it go.
        if (++calls === 2) held.push(request);
        else echo(request);
      },
      { maxConcurrentStreams: 1 },
    );
    await using client = connect(server);
    await client.inferSample({ x: X });
    const first = client.inferSample({ x: X });
    await vi.waitFor(() => expect(held).toHaveLength(1));
    const controller = new AbortController();
    const aborted = client.inferSample({ x: X }, { signal: controller.signal });
    const last = client.inferSample({ x: X });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'CANCELLED' });
    echo(held[0]!);
    await expect(first).resolves.toHaveProperty('y');
    await expect(last).resolves.toHaveProperty('y');
    expect(calls).toBe(3);
  });

  it('fails calls that wait for their turn when the connection is lost', async () => {
    let calls = 0;
    await using server = await startGrpc(
      (request) => {
        if (++calls !== 2) return echo(request);
        server.connections[0]!.destroy();
      },
      { maxConcurrentStreams: 1 },
    );
    await using client = connect(server);
    await client.inferSample({ x: X });
    const outcomes = await Promise.allSettled([client.inferSample({ x: X }), client.inferSample({ x: X })]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
  });

  it('gives out tensors in memory of their own', async () => {
    await using server = await startGrpc(echo);
    await using client = connect(server);
    const { y } = await client.inferSample({ x: X });
    expect(y!.data.buffer.byteLength).toBeLessThan(200);
  });

  it.each([20_000, 1 << 18, 3 << 20])(
    'gives %i values where they were received, in memory of their own',
    async (values) => {
      await using server = await startGrpc(echo);
      await using client = connect(server);
      const x = Float32Array.from({ length: values }, (_, i) => i);
      const [one, other] = await Promise.all([client.inferSample({ x }), client.inferSample({ x: x.map((v) => -v) })]);
      expect(other.y!.data[7]).toBe(-7);
      expect(Buffer.compare(bytesOf(one.y!.data), bytesOf(x))).toBe(0);
      expect(one.y!.data.buffer).not.toBe(other.y!.data.buffer);
      const { buffer, byteLength, byteOffset } = one.y!.data;
      // The whole message is in it, which was read to where it is: a copy of the tensor would have nothing beside it.
      expect(byteOffset).toBeGreaterThan(0);
      expect(buffer.byteLength - byteLength).toBeLessThan(100);
    },
  );

  it.each([
    [1, 'CANCELLED'],
    [2, 'UNKNOWN'],
    [3, 'INVALID_ARG'],
    [4, 'DEADLINE_EXCEEDED'],
    [5, 'NOT_FOUND'],
    [6, 'ALREADY_EXISTS'],
    [7, 'PERMISSION_DENIED'],
    [8, 'UNAVAILABLE'],
    [12, 'UNSUPPORTED'],
    [13, 'INTERNAL'],
    [14, 'UNAVAILABLE'],
    [16, 'UNAUTHENTICATED'],
    [99, 'UNKNOWN'],
  ])('turns status %i without any message into %s', async (status, code) => {
    await using server = await startGrpc(({ stream }) => failGrpc(stream, status, 'caf%C3%A9 100%25'));
    await using client = connect(server);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      name: status === 4 ? 'TritonTimeoutError' : 'TritonError',
      code,
      message: 'café 100%',
    });
  });

  it('takes a status in the trailers for the outcome, whatever was sent before', async () => {
    await using server = await startGrpc(({ stream }) =>
      answerGrpc(stream, Buffer.alloc(0), { 'grpc-status': '13', 'grpc-message': 'late' }),
    );
    await using client = connect(server);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({ code: 'INTERNAL', message: 'late' });
  });

  it('names a status that has no text', async () => {
    await using server = await startGrpc(({ stream }) => failGrpc(stream, 13));
    await using client = connect(server);
    await expect(client.inferSample({ x: X })).rejects.toThrow(
      `grpc://${server.authority} answered with gRPC status 13`,
    );
  });

  it.each<[string, (request: GrpcRequest) => void, object]>([
    [
      'no message',
      ({ stream }) => failGrpc(stream, 0),
      { code: 'INTERNAL', message: 'malformed response of the server: expected one message, got 0' },
    ],
    [
      'half a message',
      ({ stream }) => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(Buffer.from([0, 0, 0, 0, 9, 1]));
      },
      { code: 'INTERNAL', message: 'malformed response of the server: it ends inside a message' },
    ],
    [
      'a message that is no response',
      ({ stream }) => answerGrpc(stream, Buffer.from([0x2a, 0x7f])),
      { code: 'INTERNAL' },
    ],
    [
      'HTTP without gRPC',
      ({ stream }) => {
        stream.respond({ ':status': 502, 'content-type': 'text/html' });
        stream.end('<html>');
      },
      {
        code: 'UNAVAILABLE',
        message: expect.stringContaining('answered with HTTP status 502 and content type text/html, expected gRPC'),
      },
    ],
    [
      'a stream that is reset',
      ({ stream }) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
      { code: 'UNAVAILABLE', message: expect.stringContaining('the peer reset the stream: INTERNAL_ERROR') },
    ],
    ['a stream that is cancelled', ({ stream }) => stream.close(constants.NGHTTP2_CANCEL), { code: 'CANCELLED' }],
  ])('rejects when it is answered with %s, and works afterwards', async (_, turn, error) => {
    await using server = await startGrpc(inTurn(turn));
    await using client = connect(server);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject(error);
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
  });

  it('says where it could not connect', async () => {
    const server = await startTcp(() => {});
    await server[Symbol.asyncDispose]();
    await using client = connect(server);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `grpc://${server.authority} is not available: connection refused`,
    });
  });

  it('says so when the port speaks no HTTP/2', async () => {
    await using server = await startTcp((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await using client = connect(server);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/does not answer in gRPC \(.*\); is it another server's port\?$/),
    });
  });

  it('cancels the stream when the deadline passes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const cancelled: Promise<unknown>[] = [];
    await using server = await startGrpc(
      inTurn(({ stream }) => {
        cancelled.push(once(stream, 'close'));
        vi.advanceTimersByTime(50);
      }),
    );
    await using client = connect(server);
    await expect(client.inferSample({ x: X }, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: `deadline of 50 ms exceeded for model 'Double' at grpc://${server.authority}`,
    });
    await cancelled[0];
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
  });

  it('keeps the text of a deadline of the server', async () => {
    await using server = await startGrpc(({ stream }) => failGrpc(stream, 4, 'the model took more than 5 s'));
    await using client = connect(server);
    const failure = client.inferSample({ x: X }, { timeoutMs: 60_000 });
    await expect(failure).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED', status: 504 });
    await expect(failure).rejects.toSatisfy((error) => TritonTimeoutError.is(error));
    await expect(failure).rejects.toThrow(/^the model took more than 5 s$/);
  });

  it('says what a deadline without a text is about', async () => {
    await using server = await startGrpc(({ stream }) => failGrpc(stream, 4, ''));
    await using client = connect(server);
    await expect(client.inferSample({ x: X }, { timeoutMs: 60_000 })).rejects.toThrow(
      `deadline of 60000 ms exceeded for model 'Double' at grpc://${server.authority}`,
    );
  });

  it.each([
    [8, 'Received message larger than max (5 vs. 4)', 'TOO_LARGE', 413],
    [8, 'grpc: received message larger than max (5 vs. 4)', 'TOO_LARGE', 413],
    [8, 'gRPC message exceeds maximum size 4: 5', 'TOO_LARGE', 413],
    [8, 'the quota is used up', 'UNAVAILABLE', 503],
    [14, "This protocol is restricted, expecting header 'triton-grpc-protocol-a'", 'PERMISSION_DENIED', 403],
    [13, 'gRPC message exceeds maximum size 4: 5', 'INTERNAL', 500],
  ])('reads status %i with the text %j as %s', async (status, text, code, httpStatus) => {
    await using server = await startGrpc(({ stream }) => failGrpc(stream, status, text));
    await using client = connect(server, { retry: false });
    const error = { code, status: httpStatus, message: text };
    await expect(client.inferSample({ x: X })).rejects.toMatchObject(error);
  });

  it.each(['application/grpc-web+proto', 'application/json', undefined])(
    'takes no messages of content type %s, whatever the status',
    async (contentType) => {
      await using server = await startGrpc(({ stream }) => {
        const type = contentType === undefined ? {} : { 'content-type': contentType };
        stream.respond({ ':status': 200, ...type }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(Buffer.alloc(5));
      });
      await using client = connect(server);
      await using streaming = new ModelClient(`grpc://${server.authority}`, { ...double, config: { decoupled: true } });
      const error = {
        code: 'UNKNOWN',
        message: expect.stringContaining(
          `HTTP status 200 and content type ${contentType ?? 'none'}, expected gRPC`,
        ) as string,
      };
      await expect(client.inferSample({ x: X })).rejects.toMatchObject(error);
      await expect(streaming.streamSample({ x: X }).next()).rejects.toMatchObject(error);
    },
  );

  it.each(['application/grpc', 'application/grpc+proto', 'Application/gRPC;charset=utf-8'])(
    'takes messages of content type %s',
    async (contentType) => {
      await using server = await startGrpc(({ stream }) => {
        stream.respond({ ':status': 200, 'content-type': contentType }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(Buffer.alloc(5));
      });
      await using client = connect(server);
      await expect(client.inferSample({ x: X })).resolves.toEqual({});
    },
  );

  it.each([
    [401, 'UNAUTHENTICATED'],
    [403, 'PERMISSION_DENIED'],
    [404, 'UNSUPPORTED'],
    [413, 'TOO_LARGE'],
    [429, 'UNAVAILABLE'],
    [504, 'DEADLINE_EXCEEDED'],
  ])('gives HTTP status %i of a proxy the code %s', async (status, code) => {
    await using server = await startGrpc(({ stream }) => {
      stream.respond({ ':status': status, 'content-type': 'text/html' });
      stream.end('<html>');
    });
    await using client = connect(server, { retry: false });
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({ code, status });
  });

  it('cancels the stream, and no other, when the signal aborts, and leaves no listener on it', async () => {
    const controller = new AbortController();
    const codes: number[] = [];
    const other: GrpcRequest[] = [];
    await using server = await startGrpc(
      inTurn(
        (request) => other.push(request),
        ({ stream }) => {
          stream.on('close', () => {
            codes.push(stream.rstCode);
            echo(other[0]!);
          });
          controller.abort('enough');
        },
      ),
    );
    await using client = connect(server);
    const kept = client.inferSample({ x: X });
    await expect(client.inferSample({ x: X }, { signal: controller.signal })).rejects.toMatchObject({
      code: 'CANCELLED',
      cause: 'enough',
    });
    await expect(kept).resolves.toHaveProperty('y');
    expect(codes).toEqual([constants.NGHTTP2_CANCEL]);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    expect(server.connections).toHaveLength(1);
  });

  it('lets calls in flight finish after a GOAWAY, and opens a new connection for the next', async () => {
    await using server = await startGrpc(
      inTurn((request) => {
        request.stream.session!.close();
        echo(request);
      }),
    );
    await using client = connect(server);
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
    expect(server.connections).toHaveLength(2);
  });

  it.each([constants.NGHTTP2_INTERNAL_ERROR, constants.NGHTTP2_NO_ERROR])(
    'takes a stream that is reset behind a GOAWAY, with code %i, for a lost answer of this server',
    async (code) => {
      const leave = ({ stream }: GrpcRequest) => {
        stream.session!.goaway(0, stream.id!);
        stream.close(code);
      };
      await using server = await startGrpc(inTurn(leave, leave));
      await using client = connect(server, { retry: false });
      const error: unknown = await client.inferSample({ x: X }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        message: expect.stringMatching(/is not available: the peer reset the stream: (INTERNAL|NO)_ERROR$/) as string,
        requestSent: true,
      });
      await using patient = connect(server, { retry: { idempotent: true, initialBackoffMs: 1 } });
      await expect(patient.inferSample({ x: X })).resolves.toHaveProperty('y');
    },
  );

  it('sends once more, over a new connection, what the server refused unprocessed', async () => {
    await using server = await startGrpc(inTurn(({ stream }) => stream.close(constants.NGHTTP2_REFUSED_STREAM)));
    await using client = connect(server);
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
    expect(server.connections).toHaveLength(2);
  });

  it('keeps nothing of a request that the server answers without reading it', async () => {
    const resets: number[] = [];
    let isLeft: () => void;
    const left = new Promise<void>((resolve) => (isLeft = resolve));
    const server = createServer();
    const sessions: ServerHttp2Session[] = [];
    server.on('session', (session) => sessions.push(session));
    server.on('stream', (stream) => {
      stream.on('error', () => {});
      // Whose end it waits for, without reading.
      stream.pause();
      failGrpc(stream, 3, 'early');
      stream.on('close', () => {
        resets.push(stream.rstCode);
        if (resets.length === 3) isLeft();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await using client = new ModelClient(`grpc://127.0.0.1:${port}`, double);
    for (let i = 0; i < 3; i++) {
      const x = new Float32Array(1_000_000 + i);
      await expect(client.inferSample({ x })).rejects.toMatchObject({ code: 'INVALID_ARG', message: 'early' });
    }
    await left;
    expect(resets).toEqual([8, 8, 8]);
    expect(sessions).toHaveLength(1);
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('tells many calls when their one connection is there', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    await using server = await startGrpc(inTurn());
    await using client = connect(server);
    const connected: (number | undefined)[] = [];
    const inputs = Array.from({ length: 20 }, (_, i) => new Float32Array(i + 1).fill(i));
    const onTimings = ({ connectMs }: CallTimings) => connected.push(connectMs);
    const answers = await Promise.all(inputs.map((x) => client.inferSample({ x }, { onTimings })));
    expect(answers.map(({ y }) => y!.data)).toEqual(inputs);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(connected.every((ms) => ms !== undefined && ms > 0)).toBe(true);
    expect(warnings).toEqual([]);
  });

  it('does not send a third time', async () => {
    const refuse = ({ stream }: GrpcRequest) => stream.close(constants.NGHTTP2_REFUSED_STREAM);
    let calls = 0;
    await using server = await startGrpc((request) => {
      calls++;
      refuse(request);
    });
    await using client = connect(server);
    await expect(client.inferSample({ x: X }, { retry: false })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(calls).toBe(2);
  });

  it('fails what was in flight on a lost connection, and opens a new one for the next call', async () => {
    await using server = await startGrpc(inTurn(() => server.connections[0]!.destroy()));
    await using client = connect(server);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `grpc://${server.authority} is not available: connection lost`,
    });
    await expect(client.inferSample({ x: X })).resolves.toHaveProperty('y');
    expect(server.connections).toHaveLength(2);
  });

  // A machine that went away without a word: nothing tells the client, so the next call must not trust the connection.
  it.each([
    ['an inference', double],
    ['the question for the configuration', 'Double'],
  ])('leaves a connection on which nothing came until the deadline of %s', async (_, model) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await using server = await startTcp((socket) => {
      socket.once('data', () => vi.advanceTimersByTime(60_000)).resume();
    });
    await using client = new ModelClient(`grpc://${server.authority}`, model as typeof double);
    for (let call = 1; call <= 2; call++) {
      await expect(client.inferSample({ x: X })).rejects.toThrow('deadline of 60000 ms exceeded');
      // The server may be late to see it.
      await vi.waitFor(() => expect(server.connections).toHaveLength(call));
    }
  });

  it('closes with calls in flight and after a GOAWAY that the server never follows up', async () => {
    let arrived: () => void;
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    await using server = await startGrpc((request) => {
      request.stream.session!.goaway();
      arrived();
    });
    const client = connect(server);
    const outcome = client.inferSample({ x: X }).catch((error: unknown) => error);
    await arrival;
    await client.close();
    expect(await outcome).toMatchObject({ code: 'CANCELLED', message: 'ModelClient is closed' });
  });

  it('does not keep the process alive while it is idle', async () => {
    const count = (kind: string) => process.getActiveResourcesInfo().filter((name) => name === kind).length;
    const timers = count('Timeout');
    await using server = await startGrpc(echo);
    await using client = connect(server);
    await client.inferSample({ x: X });
    for (const connection of server.connections) connection.unref();
    await new Promise((resolve) => setImmediate(resolve));
    expect(count('TCPSocketWrap')).toBe(0);
    // Those of before may have ended.
    expect(count('Timeout')).toBeLessThanOrEqual(timers);
  });

  it('trusts the given authority over grpcs, and no stranger without it', async () => {
    const certificate = selfSignedCertificate();
    const server = createSecureServer(certificate, undefined);
    const sessions: { destroy(): void }[] = [];
    server.on('session', (session) => sessions.push(session));
    server.on('stream', (stream) => {
      stream.resume();
      stream.on('end', () => answerGrpcInfer(stream, []));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      await using trusting = new ModelClient(`grpcs://localhost:${port}`, double, { tls: { ca: certificate.cert } });
      await expect(trusting.inferSample({ x: X })).resolves.toEqual({});
      await using wary = new ModelClient(`grpcs://127.0.0.1:${port}`, double);
      await expect(wary.inferSample({ x: X })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: `grpcs://127.0.0.1:${port} is not available: self-signed certificate; to trust it, give it in tls.ca`,
      });
    } finally {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('says that the server wants a certificate', async () => {
    const certificate = selfSignedCertificate();
    const { cert } = certificate;
    const server = createSecureServer({ ...certificate, ca: cert, requestCert: true, rejectUnauthorized: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await using client = new ModelClient(`grpcs://localhost:${port}`, double, { tls: { ca: cert } });
    await expect(client.inferSample({ x: X })).rejects.toThrow(/ is not available: TLS failed: .*certificate/);
    await new Promise((resolve) => server.close(resolve));
  });

  it('understands a server of grpc-js', async () => {
    const definition = loadSync(fileURLToPath(new URL('../../../proto/grpc_service.proto', import.meta.url)), {
      longs: String,
    });
    const packages = grpc.loadPackageDefinition(definition) as any;
    const server = new grpc.Server();
    server.addService(packages.inference.GRPCInferenceService.service, {
      ModelConfig: (_: unknown, callback: grpc.sendUnaryData<unknown>) =>
        callback(null, {
          config: {
            name: 'Any',
            maxBatchSize: 0,
            input: [{ name: 'x', dataType: 'TYPE_STRING', dims: [1] }],
            output: [{ name: 'y', dataType: 'TYPE_STRING', dims: [1] }],
          },
        }),
      ModelInfer: ({ request }: any, callback: grpc.sendUnaryData<unknown>) =>
        callback(null, {
          outputs: [{ name: 'y', datatype: 'BYTES', shape: request.inputs[0].shape }],
          rawOutputContents: request.rawInputContents,
        }),
    });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    try {
      await using client = new ModelClient(`grpc://127.0.0.1:${port}`, 'Any');
      const { y } = await client.inferSample({ x: ['grüße'] });
      expect(y!.strings()).toEqual(['grüße']);
      expect(y!.shape).toEqual([1]);
    } finally {
      server.forceShutdown();
    }
  });
});
