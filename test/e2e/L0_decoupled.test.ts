// Triton's L0_decoupled: models that answer a request with any number of responses, over gRPC streams.
import { setTimeout as delay } from 'node:timers/promises';

import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';

import { InferenceResponse, stream, TritonError, type Triton } from 'tstriton';

import {
  floatTensor,
  GrpcService,
  inferMessage,
  intTensor,
  shortMessage,
  type Message,
  type StreamMessage,
} from '../support/grpc-client.js';
import { startServer } from '../support/start-server.js';

const NUMBER = { dtype: 'int32', shape: [1] } as const;
const ALONE = { batching: false } as const;

/** What the models were told: requests whose signal fired, and generators that were closed. */
interface Seen {
  readonly aborted: string[];
  readonly closed: number[];
}

function bind(triton: Triton, seen: Seen = { aborted: [], closed: [] }): void {
  // n answers, from 0 on.
  triton.bind({
    modelName: 'repeat',
    inferFunc: stream(async function* ({ n }) {
      let i = 0;
      try {
        for (; i < n.data[0]!; i++) yield { i: Int32Array.of(i) };
      } finally {
        seen.closed.push(i);
      }
    }),
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: { ...ALONE, decoupled: true },
  });
  // The same for ever, but that it names response n the final one.
  triton.bind({
    modelName: 'named',
    inferFunc: stream(async function* ({ n }) {
      let i = 0;
      try {
        for (; ; i++) {
          yield new InferenceResponse({ i: Int32Array.of(i) }, { final: i === n.data[0]! });
          await delay(1);
        }
      } finally {
        seen.closed.push(i);
      }
    }),
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: { ...ALONE, decoupled: true },
  });
  // An answer every 20 ms, for ever.
  triton.bind({
    modelName: 'forever',
    inferFunc: stream(async function* (_inputs, { signal }) {
      for (let i = 0; ; i++) {
        yield { i: Int32Array.of(i) };
        await delay(20, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) {
          seen.aborted.push('forever');
          return;
        }
      }
    }),
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: { ...ALONE, decoupled: true },
  });
  triton.bind({
    modelName: 'fail',
    inferFunc: stream(function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) yield { i: Int32Array.of(i) };
      throw new TritonError('UNAVAILABLE', 'no more today');
    }),
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: { ...ALONE, decoupled: true },
  });
  triton.bind({
    modelName: 'returns',
    inferFunc: (requests) => requests,
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: { ...ALONE, decoupled: true },
  });
  triton.bind({
    modelName: 'identity',
    inferFunc: (requests) => requests,
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: ALONE,
  });
  triton.bind({
    modelName: 'slow',
    inferFunc: async (requests) => {
      await delay(100);
      return requests;
    },
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: ALONE,
  });
}

interface Statistics {
  readonly model_stats: readonly {
    readonly inference_stats: { readonly success: { readonly count: number } };
    readonly response_stats: Readonly<Record<string, unknown>>;
  }[];
}

const ask = (model: string, id: string, n: number, more: Message = {}) =>
  inferMessage(model, [intTensor('n', [n])], { id, ...more });
const ENDS = { parameters: { triton_enable_empty_final_response: { bool_param: true } } };

describe.each([{ serverThread: true }, { serverThread: false }])('L0_decoupled with %o', (config) => {
  it.each([0, 1, 2, 5, 400])('%i responses to a request come in order', async (count) => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream().send(ask('repeat', 'a', count, ENDS));
    expect((await answers.end()).code).toBe(status.OK);
    expect(answers.messages.map(shortMessage)).toEqual([...Array.from({ length: count }, (_, i) => `a:${i}`), 'a:!']);
  });

  it('the last of them says so, where the generator ends with it or names it, and no message follows', async () => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream();
    answers.send(ask('repeat', 'a', 3), ask('named', 'b', 2), ask('named', 'c', 1, ENDS));
    answers.send(ask('repeat', 'd', 64));
    await answers.end();
    const texts = answers.messages.map(shortMessage);
    const of = (id: string) => texts.filter((text) => text.startsWith(`${id}:`));
    expect(of('a')).toEqual(['a:0', 'a:1', 'a:2!']);
    expect(of('b')).toEqual(['b:0', 'b:1', 'b:2!']);
    expect(of('c')).toEqual(['c:0', 'c:1!']);
    expect(of('d').slice(-2)).toEqual(['d:62', 'd:63!']);
  });

  it('a generator ends with the response that it says is the final one', async () => {
    const seen: Seen = { aborted: [], closed: [] };
    await using server = await startServer((triton) => bind(triton, seen), config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream().send(ask('named', 'b', 4));
    await answers.end();
    expect(seen.closed).toEqual([4]);
    const {
      model_stats: [stats],
    } = (await service.call('ModelStatistics', { name: 'named' })) as unknown as Statistics;
    expect(stats!.inference_stats.success.count).toBe(1);
    expect(Object.keys(stats!.response_stats)).toEqual(['0', '1', '2', '3', '4']);
    expect(stats!.response_stats['4']).toMatchObject({ success: { count: 1 }, empty_response: {} });
  });

  it('the end is a message of its own when the request asks for it', async () => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream().send(ask('repeat', 'a', 2, ENDS));
    await answers.until(3);
    answers.send(ask('repeat', 'b', 0, ENDS));
    await answers.end();
    expect(answers.messages.map(shortMessage)).toEqual(['a:0', 'a:1', 'a:!', 'b:!']);
    expect((answers.messages[2] as unknown as StreamMessage).infer_response.outputs).toBeUndefined();
  });

  it('a callable that returns instead of yielding answers once', async () => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream().send(ask('returns', 'a', 7, ENDS), ask('returns', 'b', 8, ENDS));
    await answers.end();
    expect(answers.messages.map(shortMessage).sort()).toEqual(['a:!', 'a:7', 'b:!', 'b:8']);
  });

  it('many requests at once are answered side by side, each in its order', async () => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream();
    for (let i = 0; i < 20; i++) answers.send(ask('repeat', `r${i}`, i, ENDS));
    await answers.end();
    for (let i = 0; i < 20; i++) {
      const own = answers.messages.map(shortMessage).filter((message) => message.startsWith(`r${i}:`));
      expect(own).toEqual([...Array.from({ length: i }, (_, k) => `r${i}:${k}`), `r${i}:!`]);
    }
  });

  it('ordinary models keep their order on the stream, decoupled ones pass them', async () => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream();
    answers.send(ask('slow', 's', 1), ask('identity', 'i', 2), ask('repeat', 'r', 2));
    await answers.end();
    expect(answers.messages.map(shortMessage)).toEqual(['r:0', 'r:1!', 's:1!', 'i:2!']);
  });

  it('an error comes after the responses before it, and the stream stays open', async () => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream().send(ask('fail', 'f', 3));
    await answers.until(4);
    answers.send(ask('nosuch', 'x', 1), ask('repeat', 'r', 1));
    expect((await answers.end()).code).toBe(status.OK);
    const texts = answers.messages.map(shortMessage);
    expect(texts.slice(0, 4)).toEqual(['f:0', 'f:1', 'f:2', 'f:no more today!']);
    expect(texts.slice(4).sort()).toEqual(['r:0!', "x:Request for unknown model: 'nosuch' is not found?"]);
  });

  it('an error is the status of the stream for clients that want it so', async () => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream('ModelStreamInfer', { metadata: { triton_grpc_error: 'true' } });
    answers.send(ask('fail', 'f', 2));
    expect(await answers.status).toMatchObject({ code: status.UNAVAILABLE, details: 'no more today' });
    expect(answers.messages.map(shortMessage)).toEqual(['f:0', 'f:1']);
  });

  it('the stream of a stopping server ends by itself', async () => {
    const server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    const answers = service.stream().send(ask('repeat', 'r', 1, ENDS));
    await answers.until(2);
    await server.triton.stop();
    expect(await answers.status).toMatchObject({
      code: status.UNAVAILABLE,
      details: 'GRPC server is shutting down and has stopped accepting new requests.',
    });
  });

  it('ModelInfer refuses decoupled models', async () => {
    await using server = await startServer(bind, config);
    using service = new GrpcService(server.grpc);
    await expect(service.call('ModelInfer', ask('repeat', 'a', 1))).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: "ModelInfer RPC doesn't support models with decoupled transaction policy",
    });
  });
});

describe('L0_decoupled', () => {
  it('cancelling the stream stops every model that answers on it', async () => {
    const seen: Seen = { aborted: [], closed: [] };
    await using server = await startServer((triton) => bind(triton, seen), { serverThread: false });
    using service = new GrpcService(server.grpc);
    const answers = service.stream().send(ask('forever', 'a', 0), ask('forever', 'b', 0));
    await answers.until(6);
    answers.cancel();
    expect((await answers.status).code).toBe(status.CANCELLED);
    while (seen.aborted.length < 2) await delay(5);
    expect(await service.call('ServerReady')).toEqual({ ready: true });
  });

  it('a reader that is slow makes the model wait, and gets everything', async () => {
    let produced = 0;
    await using server = await startServer(
      (triton) =>
        triton.bind({
          modelName: 'large',
          inferFunc: stream(function* ({ n }) {
            for (; produced < n.data[0]!; produced++) yield { y: new Float32Array(100_000).fill(produced) };
          }),
          inputs: { n: NUMBER },
          outputs: { y: { dtype: 'float32', shape: [-1] } },
          config: { ...ALONE, decoupled: true },
        }),
      { serverThread: false },
    );
    using service = new GrpcService(server.grpc);
    const answers = service.stream();
    await new Promise(
      (resolve) => answers.call.once('metadata', resolve).pause() && answers.send(ask('large', 'a', 400)),
    );
    // 160 MB in all, of which the reader takes nothing: what is sent is what fits into the windows of the connection.
    let before = -1;
    while (produced !== before) {
      before = produced;
      await delay(100);
    }
    expect(produced).toBeLessThan(200);
    answers.call.resume();
    await answers.end();
    expect(answers.messages).toHaveLength(400);
    const last = (answers.messages[399] as unknown as StreamMessage).infer_response.raw_output_contents![0]!;
    expect([last.length, last.readFloatLE(0)]).toEqual([400_000, 399]);
  });

  it('ordinary inputs that are wrong are refused with the id alone', async () => {
    await using server = await startServer(bind, { serverThread: false });
    using service = new GrpcService(server.grpc);
    const answers = service.stream().send(inferMessage('repeat', [floatTensor('n', [1], false)], { id: 'w' }));
    await answers.end();
    expect(answers.messages.map(shortMessage)).toEqual([
      "w:[request id: w] inference input 'n' data-type is 'FP32', but model 'repeat' expects 'INT32'?",
    ]);
  });
});
