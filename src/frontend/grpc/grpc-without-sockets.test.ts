// The whole frontend on streams that are no streams: no socket, no frame, no client of gRPC.

import { afterEach, describe, expect, it } from 'vitest';

import { controlledCore } from '../../../test/support/controlled-core.js';
import { fakePorts, type FakePort, type FakeStream, type Fields } from '../../../test/support/fake-http2.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferRequest } from '../../model/exchange.js';
import { decodeInferResponse } from '../../protocol/grpc/decode-infer-response.js';
import { encodeInferRequest } from '../../protocol/grpc/encode-infer-request.js';
import { GrpcFrontend, type GrpcFrontendOptions } from './grpc-frontend.js';
import type { ServedCore } from '../served-core.js';

const config: CompleteModelConfig = {
  name: 'm',
  version: 1,
  inputs: [{ name: 'x', dtype: 'uint8', datatype: 'UINT8', shape: [-1], optional: false }],
  outputs: [{ name: 'x', dtype: 'uint8', datatype: 'UINT8', shape: [-1], optional: false }],
  maxBatchSize: 0,
  dynamicBatching: undefined,
  instanceCount: 1,
  concurrency: 1,
  decoupled: false,
  responseCache: false,
  strict: false,
};

const ignore = () => undefined;

/** A core whose one model gives its inputs back, or keeps its requests waiting. */
function fakeCore(waits: boolean, seen: ModelInferRequest[], cancelled: string[]): ServedCore {
  return {
    name: 'triton',
    version: '1.2.3',
    extensions: [],
    routes: new Map(),
    exiting: false,
    isReady: () => true,
    isModelReady: () => true,
    modelMetadata: () => ({ config, versions: ['1'] }),
    live: true,
    resolve: (name) => {
      if (name === 'm') return { config, load: 1, isServed: true };
      throw new TritonError('NOT_FOUND', `Request for unknown model: '${name}' is not found`);
    },
    statistics: () => [],
    ...controlledCore(),
    traces: false,
    refused: () => undefined,
    onStateChange: () => ignore,
    infer(request, sink) {
      seen.push(request);
      const { modelName, id, inputs } = request;
      if (!waits) void sink.respond({ modelName, modelVersion: '1', id, parameters: undefined, outputs: inputs }, true);
      return { cancel: () => void cancelled.push(id) };
    },
  };
}

interface Served {
  readonly port: FakePort;
  readonly frontend: GrpcFrontend;
  /** Opens a stream on a connection that is there from the beginning. */
  readonly call: (headers?: Fields) => FakeStream;
  readonly seen: readonly ModelInferRequest[];
  /** Ids of requests that the core was told to cancel. */
  readonly cancelled: readonly string[];
}

const frontends: GrpcFrontend[] = [];
afterEach(() => Promise.all(frontends.splice(0).map((frontend) => frontend.close())));

async function serve(waits = false, options: Partial<GrpcFrontendOptions> = {}): Promise<Served> {
  const ports = fakePorts();
  const seen: ModelInferRequest[] = [];
  const cancelled: string[] = [];
  const frontend = new GrpcFrontend({
    server: fakeCore(waits, seen, cancelled),
    address: 'nowhere',
    port: 8001,
    maxMessageSize: 2 ** 31 - 1,
    logger: { error: ignore, warn: ignore, info: ignore, verbose: ignore },
    openPort: ports.open,
    ...options,
  });
  frontends.push(frontend);
  expect(await frontend.start()).toBe(8001);
  const open = ports.port.connect();
  return { port: ports.port, frontend, seen, cancelled, call: (headers = {}) => open({ ...HEADERS, ...headers }) };
}

const HEADERS: Fields = {
  ':method': 'POST',
  ':scheme': 'http',
  ':path': '/inference.GRPCInferenceService/ModelInfer',
  'content-type': 'application/grpc',
  te: 'trailers',
};
const STREAM: Fields = { ':path': '/inference.GRPCInferenceService/ModelStreamInfer' };
const ANSWER_HEAD = { ':status': '200', 'content-type': 'application/grpc' };

function requestOf(bytes: Uint8Array, id = 'r', modelName = 'm'): Buffer {
  const chunks = encodeInferRequest({
    modelName,
    modelVersion: '',
    id,
    parameters: undefined,
    inputs: [{ name: 'x', datatype: 'UINT8', shape: [bytes.length], bytes }],
    outputs: [],
    priority: 0,
    timeoutMicroseconds: 0,
    sequence: undefined,
  });
  return Buffer.concat(chunks);
}

function answeredBytes(stream: FakeStream): Uint8Array {
  return decodeInferResponse(Buffer.concat(stream.data).subarray(5)).outputs[0]!.bytes;
}

function pattern(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 7) % 251));
}

describe('a unary call on a stream', () => {
  it('is answered with a head, the message and trailers', async () => {
    const { call, port, frontend } = await serve();
    const stream = call();
    stream.receive(requestOf(pattern(10)));
    stream.halfClose();
    expect(stream.heads).toEqual([
      { ...ANSWER_HEAD, 'grpc-accept-encoding': 'identity,deflate,gzip' },
      { 'grpc-status': '0' },
    ]);
    expect(answeredBytes(stream)).toEqual(pattern(10));
    expect([port.connections, frontend.connections]).toEqual([1, 1]);
  });

  it('keeps its tensors while the memory that they came in is used again', async () => {
    const { call, seen } = await serve(true);
    call().receive(requestOf(pattern(100)));
    expect(Buffer.from(seen[0]!.inputs[0]!.bytes)).toEqual(pattern(100));
  });

  it.each([1, 5, 4000, 65_536])('may come in pieces of %i bytes', async (pieceBytes) => {
    const { call } = await serve();
    const bytes = pattern(200_000);
    const stream = call();
    stream.receive(requestOf(bytes), pieceBytes);
    expect(Buffer.from(answeredBytes(stream)).equals(bytes)).toBe(true);
  });

  it('may be so large that its memory grows', async () => {
    const { call } = await serve();
    const bytes = pattern(30 << 20);
    const stream = call();
    stream.receive(requestOf(bytes), 65_536);
    expect(Buffer.from(answeredBytes(stream)).equals(bytes)).toBe(true);
  });

  it('is answered with a status alone when it fails', async () => {
    const { call } = await serve();
    const stream = call();
    stream.receive(requestOf(pattern(1), 'r', 'other'));
    expect(stream.heads).toEqual([
      {
        ...ANSWER_HEAD,
        'grpc-status': '5',
        'grpc-message': "Request for unknown model: 'other' is not found",
      },
    ]);
    expect([stream.data, stream.hasEnded]).toEqual([[], true]);
  });

  it('is cancelled with its stream', async () => {
    const { call, cancelled } = await serve(true);
    const stream = call();
    stream.receive(requestOf(pattern(1), 'first'));
    stream.cancel();
    expect(cancelled).toEqual(['first']);
  });

  it.each<[string, Fields, Fields]>([
    ['of another method than POST', { ':method': 'GET' }, { ':status': '405' }],
    ['of another content type', { 'content-type': 'text/plain' }, { ':status': '415' }],
    ['to an unknown path', { ':path': '/a/b' }, { ...ANSWER_HEAD, 'grpc-status': '12' }],
  ])('is refused when it is one %s', async (_, headers, answer) => {
    const { call } = await serve();
    const stream = call(headers);
    stream.halfClose();
    expect([stream.heads, stream.hasEnded]).toEqual([[answer], true]);
  });

  it('is answered also when the server stops, as long as the client cannot know', async () => {
    const { call, frontend, seen } = await serve();
    frontend.drain();
    const stream = call();
    stream.receive(requestOf(pattern(1), 'late'));
    expect([seen.map(({ id }) => id), stream.heads.at(-1)]).toEqual([['late'], { 'grpc-status': '0' }]);
  });
});

describe('a stream of requests on a stream', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('is answered message by message, and ends when both sides have ended', async () => {
    const { call } = await serve();
    const stream = call(STREAM);
    stream.receive(Buffer.concat([requestOf(pattern(3), 'a'), requestOf(pattern(4), 'b')]));
    await turn();
    expect(stream.heads).toHaveLength(1);
    stream.receive(requestOf(pattern(100_000), 'c'), 1000);
    stream.halfClose();
    await turn();
    expect(stream.heads.at(-1)).toEqual({ 'grpc-status': '0' });
    expect(
      Buffer.concat(stream.data)
        .toString('latin1')
        .match(/\x1a\x01[abc]/g),
    ).toHaveLength(3);
  });

  it('has its first request answered also when the server stops, then ends', async () => {
    const { call, frontend, seen } = await serve();
    frontend.drain();
    const stream = call(STREAM);
    expect(stream.heads).toEqual([]);
    stream.receive(requestOf(pattern(3), 'late'));
    await turn();
    expect([seen.map(({ id }) => id), stream.data.length]).toEqual([['late'], 1]);
    expect(stream.heads.at(-1)).toMatchObject({ 'grpc-status': '14' });
  });

  it('has the client wait while its answers are not taken, and go on when they are', async () => {
    const { call, seen } = await serve();
    const stream = call(STREAM);
    stream.readerReady = false;
    stream.receive(requestOf(pattern(10)));
    await turn();
    const first = stream.consumed;
    stream.receive(requestOf(pattern(10)));
    const whileWaiting = [seen.length, stream.consumed, stream.consumesAtOnce];
    stream.receive(requestOf(pattern(10)));
    stream.readerReady = true;
    stream.listener!.onDrain!();
    await turn();
    expect(whileWaiting).toEqual([2, first, false]);
    expect([seen.length, stream.consumed, stream.consumesAtOnce]).toEqual([3, 3 * first, true]);
  });
});
