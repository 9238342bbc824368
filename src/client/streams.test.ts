import { create, toBinary } from '@bufbuild/protobuf';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { describe, expect, it } from 'vitest';

import {
  answerGrpc,
  failGrpc,
  startGrpc,
  startHttp,
  startTcp,
  type GrpcRequest,
  type HttpRequest,
} from '../../test/support/fake-servers.js';
import { defineModel } from '../model/callable.js';
import { ModelStreamInferResponseSchema } from '../../test/support/generated/grpc_service_pb.js';
import { frameMessage } from '../protocol/grpc/message-frame.js';
import { TritonConnectionError } from './client-errors.js';
import { ModelClient } from './model-client.js';

const tokens = defineModel({
  modelName: 'Tokens',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { decoupled: true, batching: false },
});
const X = Float32Array.of(1);

async function collect<T>(answers: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const answer of answers) list.push(answer);
  return list;
}

/** A message of the stream: an output, or an error. */
function message(y: number | string, final: boolean | 'unsaid' = false): Buffer {
  const init =
    typeof y === 'string'
      ? { errorMessage: y }
      : {
          inferResponse: {
            outputs: [{ name: 'y', datatype: 'FP32', shape: [1n] }],
            rawOutputContents: [new Uint8Array(Float32Array.of(y).buffer)],
            parameters:
              final === 'unsaid'
                ? {}
                : { triton_final_response: { parameterChoice: { case: 'boolParam' as const, value: final } } },
          },
        };
  return frameMessage(toBinary(ModelStreamInferResponseSchema, create(ModelStreamInferResponseSchema, init)));
}

function begin(stream: ServerHttp2Stream, ...frames: readonly Buffer[]): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  for (const frame of frames) stream.write(frame);
}

describe('a stream whose signal aborts while nobody waits for an answer', () => {
  it.each([
    [
      'streamSample',
      async (client: ModelClient, signal: AbortSignal) => {
        const stream = client.streamSample([X], { signal });
        await stream.next();
        return stream;
      },
    ],
    [
      'stream',
      async (client: ModelClient, signal: AbortSignal) => {
        const stream = client.stream({ signal });
        await stream.send([X]);
        return stream;
      },
    ],
  ])('gives its turn to the next call: %s', async (_, begun) => {
    await using server = await startGrpc(({ stream }) => begin(stream, message(1)));
    await using client = new ModelClient(`grpc://${server.authority}`, tokens, { maxConcurrency: 1 });
    const controller = new AbortController();
    const stream = await begun(client as never, controller.signal);
    const waiting = client.streamSample(X);
    const answer = waiting.next();
    controller.abort();
    expect(await answer).toMatchObject({ value: { y: { data: X } } });
    await expect(stream.next()).rejects.toMatchObject({ code: 'CANCELLED' });
    await waiting.return();
  });
});

describe('a stream of requests that ends while one is being sent', () => {
  const silent = () => startTcp((socket) => void socket.pause());
  // More than the connection takes.
  const large = defineModel({ ...tokens, inputs: { x: { dtype: 'float32', shape: [-1] } } });
  const x = new Float32Array(1_000_000);

  it.each([true, false])('tells its reader why, who asked before: %s', async (asksBefore) => {
    await using server = await silent();
    await using client = new ModelClient(`grpc://${server.authority}`, large);
    const stream = client.stream({ timeoutMs: 50 });
    const before = asksBefore ? stream.next() : undefined;
    const outcome = before?.catch(() => {});
    await expect(stream.send({ x })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await outcome;
    await expect(before ?? stream.next()).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(await stream.next()).toMatchObject({ done: true });
  });

  it('tells a reader nothing who has left', async () => {
    await using server = await silent();
    await using client = new ModelClient(`grpc://${server.authority}`, large);
    const stream = client.stream({ timeoutMs: 50 });
    await expect(stream.send({ x })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await stream.return();
    expect(await stream.next()).toMatchObject({ done: true });
  });

  it('gives its turn on when the server has refused the question for the configuration', async () => {
    await using server = await startGrpc(({ stream }) => failGrpc(stream, 3, 'which version?'));
    await using client = new ModelClient(`grpc://${server.authority}`, 'Tokens', {
      maxConcurrency: 1,
      timeoutMs: 20_000,
    });
    const stream = client.stream();
    const refused = { code: 'INVALID_ARG', message: 'which version?' };
    await expect(stream.send({ x })).rejects.toMatchObject(refused);
    await expect(stream.send({ x })).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'the stream has ended' });
    await expect(stream.next()).rejects.toMatchObject(refused);
  });
});

describe('a gRPC stream to a model that gives one answer', () => {
  const single = defineModel({ ...tokens, config: { batching: false } });

  it('rejects when the server ends it in order without all answers', async () => {
    await using server = await startGrpc(({ stream }) => (begin(stream, message(1, true)), stream.end()));
    await using client = new ModelClient(`grpc://${server.authority}`, single);
    const stream = client.stream();
    // Numbers of the client go past the ids that are taken.
    const ids = await Promise.all([stream.send([X]), stream.send([X], { requestId: '2' }), stream.send([X])]);
    expect(ids).toEqual(['1', '2', '3']);
    stream.end();
    expect(await stream.next()).toMatchObject({ value: { requestId: '1', outputs: { y: { data: X } } } });
    await expect(stream.next()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: "the server ended the stream without an answer to request '2'",
    });
    expect(await stream.next()).toMatchObject({ done: true });
  });

  it('rejects when the server ends it in order before the last answer of a decoupled model, if it tells the last', async () => {
    await using server = await startGrpc(({ stream }) => (begin(stream, message(1), message(2)), stream.end()));
    await using client = new ModelClient(`grpc://${server.authority}`, tokens);
    const stream = client.stream();
    await stream.send([X]);
    stream.end();
    expect(await stream.next()).toMatchObject({ value: { requestId: '1', final: false } });
    expect(await stream.next()).toMatchObject({ value: { requestId: '1', final: false } });
    await expect(stream.next()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: "the server ended the stream without the last answer to request '1'",
    });
  });

  it('rejects when the server ends it in order without an answer', async () => {
    await using server = await startGrpc(({ stream }) => (begin(stream), stream.end()));
    await using client = new ModelClient(`grpc://${server.authority}`, single);
    await expect(collect(client.streamSample(X))).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'malformed response of the server: expected one answer, got none',
    });
    await using decoupled = new ModelClient(`grpc://${server.authority}`, tokens);
    expect(await collect(decoupled.streamSample(X))).toEqual([]);
  });

  it.each<[string, string, object]>([
    ['an answer without outputs is one', '1', { outputs: {}, error: undefined }],
    // As tritonserver does to a request of a sequence behind one that was cancelled.
    ['an end without an answer fails the request', '', { outputs: undefined, error: { code: 'INTERNAL' } }],
  ])('tells them apart: %s', async (_, modelVersion, expected) => {
    const init = {
      inferResponse: {
        modelName: 'Tokens',
        modelVersion,
        id: '1',
        parameters: { triton_final_response: { parameterChoice: { case: 'boolParam' as const, value: true } } },
      },
    };
    const frame = frameMessage(toBinary(ModelStreamInferResponseSchema, create(ModelStreamInferResponseSchema, init)));
    await using server = await startGrpc(({ stream }) => (begin(stream, frame), stream.end()));
    await using client = new ModelClient(`grpc://${server.authority}`, single);
    const stream = client.stream();
    await stream.send([X]);
    stream.end();
    expect(await collect(stream)).toMatchObject([{ requestId: '1', final: true, ...expected }]);
    const sampled = await collect(client.streamSample(X)).catch((error: unknown) => [{ outputs: undefined, error }]);
    expect(sampled).toMatchObject([modelVersion === '' ? expected : {}]);
  });
});

describe('a gRPC stream from a server that misbehaves', () => {
  const cases: readonly [string, (request: GrpcRequest) => void, object][] = [
    [
      'refuses it with a status',
      ({ stream }) => failGrpc(stream, 14, 'busy'),
      { code: 'UNAVAILABLE', message: 'busy' },
    ],
    [
      'tells an error without a code',
      ({ stream }) => (begin(stream, message('inference failed')), stream.end()),
      { code: 'UNKNOWN', message: 'inference failed' },
    ],
    [
      'tells an unknown model without a code',
      ({ stream }) => (begin(stream, message("Request for unknown model: 'Tokens' is not found")), stream.end()),
      { code: 'NOT_FOUND' },
    ],
    [
      'ends inside a message',
      ({ stream }) => (begin(stream, message(1).subarray(0, 20)), stream.end()),
      { code: 'INTERNAL', message: 'malformed response of the server: it ends inside a message' },
    ],
    [
      'sends what is no message',
      ({ stream }) => (begin(stream, frameMessage(Buffer.from('garbage'))), stream.end()),
      { code: 'INTERNAL' },
    ],
    [
      'sends what is no frame',
      ({ stream }) => (begin(stream, Buffer.from('HTTP/1.1 400')), stream.end()),
      { code: 'INTERNAL', message: 'malformed response of the server: the prefix of a message cannot be read' },
    ],
    ['resets it', ({ stream }) => (begin(stream, message(1)), stream.close(2)), { code: 'UNAVAILABLE' }],
    [
      'closes the connection',
      ({ stream }) => (begin(stream, message(1)), stream.session!.destroy()),
      { code: 'UNAVAILABLE', message: expect.stringContaining('is not available') as string },
    ],
  ];
  it.each(cases)('that %s rejects', async (_, answer, error) => {
    await using server = await startGrpc(answer);
    await using client = new ModelClient(`grpc://${server.authority}`, tokens);
    await expect(collect(client.streamSample(X))).rejects.toMatchObject(error);
  });

  it('is sent again once when the server refused it unprocessed, over a new connection', async () => {
    let calls = 0;
    await using server = await startGrpc(({ stream }) => {
      if (++calls === 1) stream.close(7);
      else {
        begin(stream, message(1, true));
        stream.end();
      }
    });
    await using client = new ModelClient(`grpc://${server.authority}`, tokens);
    expect((await collect(client.streamSample(X))).map(({ y }) => y!.data[0])).toEqual([1]);
    expect(server.connections).toHaveLength(2);
  });

  it('goes on to its end over a connection that said GOAWAY, while later ones use another', async () => {
    const streams: ServerHttp2Stream[] = [];
    await using server = await startGrpc(({ stream }) => {
      streams.push(stream);
      begin(stream, message(streams.length, streams.length === 2));
    });
    await using client = new ModelClient(`grpc://${server.authority}`, tokens);
    const first = client.streamSample(X);
    await first.next();
    streams[0]!.session!.goaway(0);
    streams[0]!.write(message(7, true));
    expect((await first.next()).value!.y!.data[0]).toBe(7);
    const second = client.streamSample(X);
    expect((await second.next()).value!.y!.data[0]).toBe(2);
    for (const stream of streams) stream.end();
    expect(await first.next()).toMatchObject({ done: true });
    expect(await second.next()).toMatchObject({ done: true });
    expect(server.connections).toHaveLength(2);
  });

  it('ends with a message that only says so, and asks for the codes of errors in a way that harms no tritonserver', async () => {
    const seen: GrpcRequest[] = [];
    await using server = await startGrpc((request) => {
      seen.push(request);
      const last = create(ModelStreamInferResponseSchema, {
        inferResponse: {
          parameters: { triton_final_response: { parameterChoice: { case: 'boolParam', value: true } } },
        },
      });
      begin(request.stream, message(1), frameMessage(toBinary(ModelStreamInferResponseSchema, last)));
      request.stream.end();
    });
    await using client = new ModelClient(`grpc://${server.authority}`, tokens);
    expect(await collect(client.streamSample(X))).toHaveLength(1);
    expect(seen[0]!.headers).toMatchObject({ 'tstriton-error-codes': 'true' });
    // It ends tritonserver when two streams fail at the same time.
    expect(seen[0]!.headers).not.toHaveProperty('triton_grpc_error');
    // How long a whole stream may take nobody knows.
    expect(seen[0]!.headers).not.toHaveProperty('grpc-timeout');
  });

  it('resets the stream of a loop that is left', async () => {
    let reset: Promise<unknown> | undefined;
    await using server = await startGrpc(({ stream }) => {
      reset = once(stream, 'close').then(() => stream.rstCode);
      begin(stream, message(1));
    });
    await using client = new ModelClient(`grpc://${server.authority}`, tokens);
    for await (const _ of client.streamSample(X)) break;
    expect(await reset).toBe(8);
  });

  it('takes each answer apart, whatever else the response has', async () => {
    await using server = await startGrpc(({ stream }) => answerGrpc(stream, message(3, true).subarray(5)));
    await using client = new ModelClient(`grpc://${server.authority}`, tokens);
    expect(await collect(client.streamSample(X))).toMatchObject([{ y: { data: Float32Array.of(3) } }]);
  });
});

const EVENTS = { 'content-type': 'text/event-stream; charset=utf-8' };

describe('an HTTP stream from a server that misbehaves', () => {
  const event = (y: number) => `data: {"model_name":"Tokens","y":${y}}\n\n`;

  it.each<[string, (response: ServerResponse) => void, object]>([
    [
      'refuses it',
      (response) => response.writeHead(503).end('{"error":"busy"}'),
      { code: 'UNAVAILABLE', message: 'busy' },
    ],
    [
      'refuses it in an event',
      (response) => response.writeHead(400, EVENTS).end('data: {"error":"wrong"}\n\n'),
      { code: 'INVALID_ARG', message: 'wrong' },
    ],
    [
      'answers something else',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      {
        code: 'UNSUPPORTED',
        message: expect.stringContaining('answered with content type text/html, expected text/event-stream') as string,
      },
    ],
    ['sends no JSON', (response) => response.writeHead(200, EVENTS).end('data: garbage\n\n'), { code: 'INTERNAL' }],
    ['sends no object', (response) => response.writeHead(200, EVENTS).end('data: 5\n\n'), { code: 'INTERNAL' }],
    [
      'sends too many elements',
      (response) => response.writeHead(200, EVENTS).end('data: {"y":[1,2]}\n\n'),
      { code: 'INTERNAL', message: "output 'y' of model 'Tokens' has 2 elements, expected shape [1]" },
    ],
    [
      'ends inside an event',
      (response) => response.writeHead(200, EVENTS).end(`${event(1)}data: {"y":`),
      { code: 'UNAVAILABLE', message: expect.stringContaining('closed before the answer was complete') as string },
    ],
    [
      'closes the connection',
      (response) => {
        response.writeHead(200, EVENTS).write(event(1), () => response.destroy());
      },
      { code: 'UNAVAILABLE', message: expect.stringContaining('is not available') as string },
    ],
  ])('that %s rejects', async (_, answer, error) => {
    await using server = await startHttp((_request, response) => answer(response));
    await using client = new ModelClient(server.authority, tokens);
    await expect(collect(client.streamSample(X))).rejects.toMatchObject(error);
  });

  it('gives what came before the connection broke', async () => {
    await using server = await startHttp((_, response) => {
      response.writeHead(200, EVENTS);
      response.write(event(1) + event(2) + event(3), () => response.destroy());
    });
    await using client = new ModelClient(server.authority, tokens);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { y } of client.streamSample(X)) seen.push(y!.data[0]!);
    })();
    await expect(reading).rejects.toMatchObject({ name: 'TritonConnectionError', requestSent: true });
    expect(seen).toEqual([1, 2, 3]);
  });

  it('understands events however they are cut and their lines end', async () => {
    const text = `: hello\r\ndata: {"y":\r\ndata:1}\r\n\r\nevent: x\rdata:{"y":[2]}\r\r${event(3)}`;
    await using server = await startHttp((_, response) => {
      response.writeHead(200, { 'content-type': 'Text/Event-Stream' });
      for (const character of text) response.write(character);
      response.end();
    });
    await using client = new ModelClient(server.authority, tokens);
    expect((await collect(client.streamSample(X))).map(({ y }) => y!.data[0])).toEqual([1, 2, 3]);
  });

  it('sends inputs, parameters and the id as generate_stream has them', async () => {
    const seen: HttpRequest[] = [];
    await using server = await startHttp((request, response) => {
      seen.push(request);
      response.writeHead(200, EVENTS).end();
    });
    await using client = new ModelClient(server.authority, tokens);
    expect(await collect(client.streamSample(X, { requestId: '7', parameters: { top: 3, t: 0.5 } }))).toEqual([]);
    expect(seen[0]!.path).toBe('/v2/models/Tokens/generate_stream');
    expect(JSON.parse(seen[0]!.body.toString())).toEqual({ id: '7', x: [1], parameters: { top: 3, t: 0.5 } });
  });

  it('closes the connection of a loop that is left', async () => {
    let closed: Promise<unknown> | undefined;
    await using server = await startHttp(({ socket }, response) => {
      closed = once(socket, 'close');
      response.writeHead(200, EVENTS).write(event(1));
    });
    await using client = new ModelClient(server.authority, tokens);
    for await (const _ of client.streamSample(X)) break;
    await expect(closed).resolves.toBeDefined();
  });
});

describe.each(['http', 'grpc'])('a stream over %s', (scheme) => {
  it('ends by its deadline when the server accepts and is silent', async () => {
    await using server = await startTcp(() => {});
    await using client = new ModelClient(`${scheme}://${server.authority}`, tokens, { timeoutMs: 50 });
    await expect(collect(client.streamSample(X))).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringContaining('deadline of 50 ms exceeded') as string,
    });
  });

  it('fails at once where nobody listens, and where the answer is garbage', async () => {
    await using client = new ModelClient(`${scheme}://127.0.0.1:1`, tokens);
    await expect(collect(client.streamSample(X))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('connection refused') as string,
    });
    await using server = await startTcp((socket) => socket.end('garbage that is no protocol at all\r\n\r\n'));
    await using other = new ModelClient(`${scheme}://${server.authority}`, tokens);
    await expect(collect(other.streamSample(X))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

// A tritonserver that was restarted had ended a stream in order after some of its answers.
describe('a stream of answers that the server ends in order', () => {
  async function read(...frames: readonly Buffer[]) {
    await using server = await startGrpc(({ stream }) => {
      begin(stream, ...frames);
      stream.end();
    });
    await using client = new ModelClient(`grpc://${server.authority}`, tokens, { retry: false });
    return await collect(client.streamSample(X));
  }

  it('is lost when the server said that more answers come', async () => {
    const lost = read(message(1), message(2));
    await expect(lost).rejects.toBeInstanceOf(TritonConnectionError);
    await expect(lost).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('last answer') });
  });

  it('is lost without any answer, once the server has said of others which is the last', async () => {
    let calls = 0;
    await using server = await startGrpc(({ stream }) => {
      begin(stream, ...(++calls === 2 ? [] : [message(calls, true)]));
      stream.end();
    });
    await using client = new ModelClient(`grpc://${server.authority}`, tokens, { retry: false });
    expect(await collect(client.streamSample(X))).toHaveLength(1);
    await expect(collect(client.streamSample(X))).rejects.toBeInstanceOf(TritonConnectionError);
    expect(await collect(client.streamSample(X))).toHaveLength(1);
  });

  it('is complete after the last answer', async () => {
    expect(await read(message(1), message(2, true))).toHaveLength(2);
  });

  it('is complete when the server never says which answer is the last', async () => {
    expect(await read(message(3, 'unsaid'), message(4, 'unsaid'))).toHaveLength(2);
  });
});
