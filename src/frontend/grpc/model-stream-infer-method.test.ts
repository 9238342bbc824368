// ModelStreamInfer between a client without a transport and a core that does what each test says.

import { create, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { StreamClient, type StreamClientOptions } from '../../../test/support/stream-client.js';
import type { ResponseSink } from '../../core/response-sink.js';
import { SharedMemoryRegistry } from '../../core/shared-memory/shared-memory-registry.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferRequest, ModelInferResponse } from '../../model/exchange.js';
import {
  InferParameterSchema,
  ModelInferRequestSchema,
  ModelStreamInferResponseSchema,
} from '../../../test/support/generated/grpc_service_pb.js';
import type { InferOptions } from '../complete-request.js';
import { modelStreamInferMethod } from './model-stream-infer-method.js';

/** A request in the core, as a test sees it. */
interface Taken {
  readonly request: ModelInferRequest;
  readonly sink: ResponseSink;
  cancelled: boolean;
}

/** A core with an ordinary model `m` and a decoupled one, `d`. */
function startStream(options: StreamClientOptions = {}, infer?: (taken: Taken) => void) {
  const taken: Taken[] = [];
  const server: InferOptions['server'] = {
    resolve(name) {
      if (name === 'm' || name === 'd')
        return { config: { name, decoupled: name === 'd' } as CompleteModelConfig, load: 1, isServed: true };
      throw new TritonError('NOT_FOUND', `Request for unknown model: '${name}' is not found`);
    },
    infer(request, sink) {
      const one: Taken = { request, sink, cancelled: false };
      taken.push(one);
      infer?.(one);
      return { cancel: () => void (one.cancelled = true) };
    },
    sharedMemory: new SharedMemoryRegistry({ allowed: false }),
    traces: false,
    refused: () => undefined,
  };
  const client = new StreamClient(modelStreamInferMethod({ server, forwarding: undefined }, 'none'), options);
  return { server, client, taken, received: () => client.received(ModelStreamInferResponseSchema) };
}

function request(modelName: string, id: string, more: MessageInitShape<typeof ModelInferRequestSchema> = {}) {
  return toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, { modelName, id, ...more }));
}

function answer({ request: { modelName, id } }: Taken, value = ''): ModelInferResponse {
  return { modelName, modelVersion: '1', id: id + value, parameters: undefined, outputs: [] };
}

const wantsEnd = {
  parameters: {
    triton_enable_empty_final_response: create(InferParameterSchema, {
      parameterChoice: { case: 'boolParam', value: true },
    }),
  },
};

/** A message with what the tests look at: the id, whether it is the last, and the error. */
function short(message: unknown): string {
  const { error_message: error, infer_response: response } = message as {
    readonly error_message?: string;
    readonly infer_response: { readonly id?: string; readonly parameters?: Record<string, { bool_param: boolean }> };
  };
  const final = response.parameters?.['triton_final_response']?.bool_param;
  return [response.id ?? '', final === undefined ? '' : final ? 'final' : 'more', error ?? ''].join(' ').trim();
}

describe('ordinary models on a stream', () => {
  it('answer in the order of the requests', async () => {
    const { client, taken, received } = startStream();
    client.send(request('m', 'a'), request('m', 'b'), request('m', 'c'));
    void taken[2]!.sink.respond(answer(taken[2]!), true);
    void taken[1]!.sink.respond(answer(taken[1]!), true);
    expect(await received()).toEqual([]);
    void taken[0]!.sink.respond(answer(taken[0]!), true);
    expect((await received()).map(short)).toEqual(['a final', 'b final', 'c final']);
  });

  it('send what was answered together in one write', async () => {
    const { client, taken, received } = startStream();
    client.send(...Array.from({ length: 50 }, (_, i) => request('m', `r${i}`)));
    for (const one of taken) void one.sink.respond(answer(one), true);
    expect(await received()).toHaveLength(50);
    expect(client.call.writes).toHaveLength(1);
  });

  it('keep the order with refusals and failures', async () => {
    const { client, taken, received } = startStream();
    client.send(request('m', 'slow'), request('nosuch', 'unknown'), request('m', 'bad'));
    taken[1]!.sink.fail(new TritonError('INTERNAL', 'went wrong'));
    expect(await received()).toEqual([]);
    void taken[0]!.sink.respond(answer(taken[0]!), true);
    expect((await received()).map(short)).toEqual([
      'slow final',
      "unknown  Request for unknown model: 'nosuch' is not found",
      'bad final went wrong',
    ]);
  });
});

describe('decoupled models on a stream', () => {
  it('answer as their answers come, beside others', async () => {
    const { client, taken, received } = startStream();
    client.send(request('m', 'o'), request('d', 'x'), request('d', 'y'));
    const [ordinary, x, y] = taken;
    void y!.sink.respond(answer(y!), false);
    void x!.sink.respond(answer(x!), false);
    void y!.sink.respond(answer(y!), true);
    x!.sink.complete();
    void ordinary!.sink.respond(answer(ordinary!), true);
    expect((await received()).map(short)).toEqual(['y more', 'y final', 'x final', 'o final']);
  });

  it('mark the last answer where the request ends in the same turn, also when its end is told in a promise', async () => {
    const { client, taken, received } = startStream();
    client.send(request('d', 'a'), request('d', 'b'), request('d', 'c'));
    const [a, b, c] = taken;
    for (const one of taken) void one.sink.respond(answer(one), false);
    void a!.sink.respond(answer(a!), false);
    a!.sink.complete();
    await Promise.resolve().then(() => b!.sink.complete());
    c!.sink.fail(new TritonError('INTERNAL', 'went wrong'));
    expect((await received()).map(short)).toEqual(['a more', 'a final', 'b final', 'c more', 'c final went wrong']);
  });

  it('send an answer by the end of its turn when its request has not ended', async () => {
    const { client, taken, received } = startStream();
    client.send(request('d', 'a'));
    void taken[0]!.sink.respond(answer(taken[0]!), false);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect((await received()).map(short)).toEqual(['a more']);
    taken[0]!.sink.complete();
    client.halfClose();
    expect((await received()).map(short)).toEqual(['a more']);
    expect(client.call.ends).toEqual(['OK']);
  });

  it('leave the end to a message of its own where the request asks for it, unless the model marks its last answer', async () => {
    const { client, taken, received } = startStream();
    client.send(request('d', 'a', wantsEnd), request('d', 'b', wantsEnd));
    const [a, b] = taken;
    void a!.sink.respond(answer(a!), false);
    a!.sink.complete();
    void b!.sink.respond(answer(b!), true);
    expect((await received()).map(short)).toEqual(['a more', 'a final', 'b final']);
  });

  it('tell of the end after the last answer when the request asks for it, as of the version that was asked', async () => {
    const { client, taken, received } = startStream();
    client.send(request('d', 'a', { ...wantsEnd, modelVersion: '1' }), request('d', 'b', wantsEnd), request('d', 'c'));
    for (const { sink } of taken) sink.complete();
    const end = { model_name: 'd', parameters: { triton_final_response: { bool_param: true } } };
    expect(await received()).toEqual([
      { infer_response: { ...end, model_version: '1', id: 'a' } },
      { infer_response: { ...end, id: 'b' } },
    ]);
  });

  it('do not tell of it twice', async () => {
    const { client, taken, received } = startStream();
    client.send(request('d', 'a', wantsEnd));
    void taken[0]!.sink.respond(answer(taken[0]!), true);
    expect((await received()).map(short)).toEqual(['a final']);
  });
});

describe('what is wrong with one request', () => {
  it('is told with its id alone when it was refused', async () => {
    const { client, received } = startStream({}, ({ request: { id }, sink }) => {
      sink.fail(new TritonError('INVALID_ARG', `no ${id}`));
    });
    client.send(request('m', 'a'), request('d', 'b'), request('nosuch', ''));
    expect(await received()).toEqual([
      { error_message: 'no a', infer_response: { id: 'a' } },
      { error_message: 'no b', infer_response: { id: 'b' } },
      { error_message: "Request for unknown model: 'nosuch' is not found", infer_response: {} },
    ]);
  });

  it('is told with the model, as it was asked for, when that failed', async () => {
    const { client, taken, received } = startStream();
    client.send(request('m', 'a'), request('d', 'b', { modelVersion: '7' }));
    for (const { sink } of taken) sink.fail(new TritonError('INTERNAL', 'no'));
    const parameters = { triton_final_response: { bool_param: true } };
    expect(await received()).toEqual([
      { error_message: 'no', infer_response: { model_name: 'm', id: 'a', parameters } },
      { error_message: 'no', infer_response: { model_name: 'd', model_version: '7', id: 'b', parameters } },
    ]);
  });

  it('has a text where the core has none: an empty one is no failure to clients', async () => {
    const { client, taken, received } = startStream();
    client.send(request('m', 'a'));
    taken[0]!.sink.fail(new TritonError('CANCELLED', ''));
    expect((await received()).map(short)).toEqual(['a final the request was cancelled']);
  });

  it('is an answer that cannot be encoded', async () => {
    const { client, taken, received } = startStream();
    client.send(request('d', 'a'));
    void taken[0]!.sink.respond({ ...answer(taken[0]!), parameters: { big: 2n ** 70n } }, false);
    expect((await received()).map(short)).toEqual([expect.stringContaining("a final parameter 'big' is")]);
    expect(taken[0]!.cancelled).toBe(true);
  });

  it('ends the stream when the client wants statuses, and cancels what else is under way', async () => {
    const { client, taken, received } = startStream({ headers: { triton_grpc_error: 'true' } });
    client.send(request('nosuch', 'a'), request('d', 'b'), request('m', 'c'), request('m', 'd'));
    const [decoupled, failing, waiting] = taken;
    void decoupled!.sink.respond(answer(decoupled!), false);
    failing!.sink.fail(new TritonError('NOT_FOUND', 'gone'));
    expect((await received()).map(short)).toEqual([expect.stringContaining('a  Request for unknown'), 'b more']);
    expect(client.call.ends).toEqual([[5, 'gone']]);
    expect([decoupled!.cancelled, waiting!.cancelled]).toEqual([true, true]);
    // What the core says of the cancellation is told nobody.
    waiting!.sink.fail(new TritonError('CANCELLED', ''));
    void decoupled!.sink.respond(answer(decoupled!), false);
    expect(await received()).toHaveLength(2);
    expect(client.call.ends).toHaveLength(1);
  });

  it.each(['false', 'True', '1', '', 'false, true'])('does not end it for triton_grpc_error: %j', async (value) => {
    const { client, taken, received } = startStream({ headers: { triton_grpc_error: value } });
    client.send(request('m', 'a'));
    taken[0]!.sink.fail(new TritonError('NOT_FOUND', 'gone'));
    expect((await received()).map(short)).toEqual(['a final gone']);
    expect(client.call.ends).toEqual([]);
  });

  it('has its code for a client that wants it, refused or failed', async () => {
    const { client, taken, received } = startStream({ headers: { 'tstriton-error-codes': 'true' } });
    client.send(request('nosuch', 'a'), request('m', 'b'), request('m', 'c'), request('nosuch', 'd'));
    taken[0]!.sink.fail(new TritonError('UNAVAILABLE', 'busy'));
    taken[1]!.sink.fail(new TritonError('TOO_LARGE', 'much'));
    const coded = (id: string, code: string) => ({
      infer_response: { id, parameters: { tstriton_error_code: { string_param: code } } },
    });
    expect(await received()).toMatchObject([
      coded('a', 'NOT_FOUND'),
      coded('b', 'UNAVAILABLE'),
      coded('c', 'TOO_LARGE'),
      coded('d', 'NOT_FOUND'),
    ]);
    expect(client.call.ends).toEqual([]);
  });

  it('ends the stream when it is no request at all', async () => {
    const { client, taken, received } = startStream();
    client.send(request('d', 'a'), Buffer.from([0xff, 0xff]), request('d', 'b'));
    void taken[0]!.sink.respond(answer(taken[0]!), false);
    expect(await received()).toEqual([]);
    expect(client.call.ends).toEqual([[13, 'Unable to parse request']]);
    expect(taken.map(({ cancelled }) => cancelled)).toEqual([true]);
  });
});

describe('the end of a stream', () => {
  it('is OK at once when nothing was asked', () => {
    const { client } = startStream();
    client.halfClose();
    expect(client.call.ends).toEqual(['OK']);
    expect(client.ended).toBe(1);
  });

  it('waits for the answers', async () => {
    const { client, taken, received } = startStream();
    client.send(request('m', 'a'), request('d', 'b'));
    client.halfClose();
    const [ordinary, decoupled] = taken;
    void ordinary!.sink.respond(answer(ordinary!), true);
    expect(client.call.ends).toEqual([]);
    void decoupled!.sink.respond(answer(decoupled!), false);
    decoupled!.sink.complete();
    expect(client.call.ends).toEqual(['OK']);
    expect((await received()).map(short)).toEqual(['a final', 'b final']);
  });

  it('by cancellation cancels all that is under way', () => {
    const { client, taken } = startStream();
    client.send(request('m', 'a'), request('d', 'b'), request('m', 'c'));
    void taken[2]!.sink.respond(answer(taken[2]!), true);
    client.listener.onClose();
    expect(taken.map(({ cancelled }) => cancelled)).toEqual([true, true, false]);
    expect(client.call.ends).toEqual([]);
    expect(client.ended).toBe(1);
  });

  it('by what reading a request does leaves nothing of the request', () => {
    const { server, client, taken } = startStream();
    const { resolve } = server;
    // As where a request needs room, and its own connection has to make it.
    server.resolve = (...named) => {
      client.listener.onClose();
      return resolve(...named);
    };
    client.send(request('m', 'a'));
    expect([taken, client.call.ends, client.ended]).toEqual([[], [], 1]);
  });

  it('comes when the server stops and nothing is under way, with the reason', () => {
    const { client, taken } = startStream();
    client.send(request('m', 'a'));
    client.listener.drain();
    expect(client.call.ends).toEqual([]);
    void taken[0]!.sink.respond(answer(taken[0]!), true);
    expect(client.call.ends).toEqual([[14, 'GRPC server is shutting down and has stopped accepting new requests.']]);
  });

  it('is not put off by requests that come while the server stops', async () => {
    const { client, taken, received } = startStream();
    client.send(request('m', 'a'));
    client.listener.drain();
    client.send(request('m', 'b'), request('d', 'c'));
    expect(taken).toHaveLength(1);
    void taken[0]!.sink.respond(answer(taken[0]!), true);
    const refused = (id: string) =>
      `${id}  [request id: ${id}] Server is stopping, scheduler for model has stopped accepting new inference requests`;
    expect((await received()).map(short)).toEqual([refused('c'), 'a final', refused('b')]);
    expect(client.call.ends).toHaveLength(1);
  });
});

describe('a reader that is slow', () => {
  it('makes a decoupled model wait', async () => {
    const { client, taken } = startStream();
    client.call.readerReady = false;
    client.send(request('d', 'a'));
    const { sink } = taken[0]!;
    expect(sink.respond(answer(taken[0]!), false)).toBeUndefined();
    await client.receivedBytes();
    const room = sink.respond(answer(taken[0]!), false);
    expect(room).toBeInstanceOf(Promise);
    client.call.readerReady = true;
    client.listener.onDrain();
    await room;
    expect(await client.receivedBytes()).toHaveLength(2);
  });

  it('makes its own further requests wait', async () => {
    const { client, taken } = startStream();
    client.call.readerReady = false;
    client.send(request('m', 'a'));
    void taken[0]!.sink.respond(answer(taken[0]!), true);
    await client.receivedBytes();
    client.send(request('m', 'b'), request('m', 'c'));
    expect(taken).toHaveLength(2);
    expect(client.call.paused).toBe(true);
    client.call.readerReady = true;
    client.listener.onDrain();
    await client.receivedBytes();
    expect(taken).toHaveLength(3);
    expect(client.call.paused).toBe(false);
  });

  it('lets a model go on when it is gone', async () => {
    const { client, taken } = startStream();
    client.call.readerReady = false;
    client.send(request('d', 'a'));
    void taken[0]!.sink.respond(answer(taken[0]!), false);
    await client.receivedBytes();
    const room = taken[0]!.sink.respond(answer(taken[0]!), false);
    client.listener.onClose();
    await expect(room).resolves.toBeUndefined();
  });

  it('is not waited for when the deadline passes', async () => {
    const { client, taken } = startStream({ headers: { 'grpc-timeout': '10m' } });
    client.call.readerReady = false;
    client.send(request('d', 'a'));
    void taken[0]!.sink.respond(answer(taken[0]!), false);
    await client.receivedBytes();
    client.listener.expire();
    expect(client.call.ends).toEqual(['reset']);
    expect(taken[0]!.cancelled).toBe(true);
  });
});

it('takes no more requests of one stream at a time than a connection may have calls', async () => {
  const { client, taken } = startStream();
  client.send(...Array.from({ length: 1500 }, (_, i) => request('m', `r${i}`)));
  // Sixty-four in a turn.
  while (taken.length < 1000) await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toHaveLength(1000);
  expect(client.call.paused).toBe(true);
  void taken[1]!.sink.respond(answer(taken[1]!), true);
  // Held back for the first: nothing is gained yet.
  expect(taken).toHaveLength(1000);
  void taken[0]!.sink.respond(answer(taken[0]!), true);
  while (taken.length < 1002) await new Promise((resolve) => setImmediate(resolve));
  client.halfClose();
  for (let i = 2; i < 1500; i++) {
    while (taken.length <= i) await new Promise((resolve) => setImmediate(resolve));
    void taken[i]!.sink.respond(answer(taken[i]!), true);
  }
  expect(taken).toHaveLength(1500);
  expect(client.call.ends).toEqual(['OK']);
});

it('takes no more requests of a stream when it has many bytes of them, until some are answered', async () => {
  const { client, taken } = startStream({ maxMessageSize: 1 << 26 });
  const rawInputContents = [Buffer.alloc(30 << 20)];
  const inputs = [{ name: 'x', datatype: 'UINT8', shape: [30n << 20n] }];
  const large = request('m', 'large', { inputs, rawInputContents });
  client.send(large, large, large, large);
  await expect.poll(() => taken.length, { timeout: 5000 }).toBe(3);
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toHaveLength(3);
  void taken[0]!.sink.respond(answer(taken[0]!), true);
  await expect.poll(() => taken.length, { timeout: 5000 }).toBe(4);
});
