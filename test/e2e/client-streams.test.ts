// Streams of the client, over both protocols alike: what comes, what ends them, and who waits for whom.
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { defineModel, stream, Tensor, TritonError, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { CLIENT_KINDS, CLIENTS } from '../support/clients.js';
import { gate, startServer, type RunningServer } from '../support/start-server.js';

const count = defineModel({
  modelName: 'Count',
  inputs: { n: { dtype: 'int32', shape: [1] } },
  outputs: { i: { dtype: 'int32', shape: [1] }, text: { dtype: 'string', shape: [-1] } },
  config: { decoupled: true, maxBatchSize: 4 },
});
const echo = defineModel({
  modelName: 'Echo',
  inputs: { x: { dtype: 'float16', shape: [-1, -1] } },
  outputs: { y: { dtype: 'float16', shape: [-1, -1] } },
});

/** What the endless model of a server did. */
interface Endless {
  produced: number;
  aborted: Promise<unknown>;
}

function bindModels(triton: Triton, endless: Endless): void {
  triton.bind({
    ...count,
    inferFunc: stream(async function* ({ n }) {
      if (n.data[0]! < 0) throw new TritonError('UNSUPPORTED', 'nobody counts to less than nothing');
      for (let i = 0; i < n.data[0]!; i++) {
        if (i === 100) throw new TritonError('NOT_FOUND', 'no such number');
        yield { i: [i], text: Array.from({ length: i }, (_, k) => `é${k}`) };
      }
    }),
  });
  triton.bind({ ...echo, inferFunc: (requests) => requests });
  const left = gate<unknown>();
  endless.aborted = left.opened;
  triton.bind({
    modelName: 'Endless',
    inputs: { size: { dtype: 'int32', shape: [1] } },
    outputs: { data: { dtype: 'string', shape: [1] } },
    config: { decoupled: true, batching: false },
    inferFunc: stream(async function* ({ size }, { signal }) {
      if (signal.aborted) left.open(true);
      else signal.addEventListener('abort', () => left.open(true), { once: true });
      const data = ['x'.repeat(size.data[0]!)];
      while (!signal.aborted) {
        endless.produced++;
        yield { data };
      }
    }),
  });
  const text = { dtype: 'string', shape: [1] } as const;
  triton.bind({
    modelName: 'Names',
    inputs: { id: text, parameters: text },
    outputs: { id: text, parameters: text },
    config: { decoupled: true, batching: false },
    inferFunc: stream(function* (inputs) {
      yield inputs;
    }),
  });
  triton.bind({
    modelName: 'Silent',
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true, batching: false },
    inferFunc: stream(async function* ({ x }, { signal }) {
      if (x.data[0] === 1) yield { y: [1] };
      await once(signal, 'abort');
    }),
  });
}

async function collect<T>(answers: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const answer of answers) list.push(answer);
  return list;
}

describe.each(CLIENT_KINDS)('a stream of the client over %s', (kind) => {
  const { ModelClient, protocol, at, start } = CLIENTS[kind];
  let server: RunningServer;
  let endless: Endless;

  beforeAll(async () => {
    endless = { produced: 0, aborted: Promise.resolve() };
    server = await start((triton) => bindModels(triton, endless));
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('gives the answers in order, with their shapes, and ends', async () => {
    await using client = new ModelClient(at(server), count);
    const answers = await collect(client.streamSample({ n: [3] }));
    expect(answers.map(({ i, text }) => [i!.toNested(), text!.toNested()])).toEqual([
      [[0], []],
      [[1], ['é0']],
      [[2], ['é0', 'é1']],
    ]);
    expect(await collect(client.streamSample([0]))).toEqual([]);
  });

  it('gives rows for a batch', async () => {
    await using client = new ModelClient(at(server), count);
    const [first] = await collect(client.streamBatch({ n: [[1]] }));
    expect(first!.i!.shape).toEqual([1, 1]);
    await expect(collect(client.streamBatch([1] as never))).rejects.toThrow('streamBatch takes tensors with the batch');
  });

  it('knows of a name what the server says, and takes positions and options', async () => {
    await using client = new ModelClient(at(server), 'Count');
    const answers = await collect(client.streamSample([2], { outputs: ['i'], requestId: '7' }));
    expect(answers.map((answer) => [Object.keys(answer), answer['i']!.data[0]])).toEqual([
      [['i'], 0],
      [['i'], 1],
    ]);
  });

  it('has one answer of a model that gives one, of any dtype and shape', async () => {
    await using client = new ModelClient(at(server), echo);
    const x = Tensor.from('float16', [[1, 2, 3], [4, 5, 6]]); // prettier-ignore
    const answers = await collect(client.streamSample({ x }));
    expect(answers.map(({ y }) => y!.toNested())).toEqual([x.toNested()]);
  });

  it.runIf(protocol === 'grpc')('knows an input that is called as the id of a request', async () => {
    await using client = new ModelClient(at(server), 'Names');
    const [first, ...others] = await collect(client.streamSample({ id: ['a'], parameters: ['b'] }));
    expect([first!['id']!.strings(), first!['parameters']!.strings(), others]).toEqual([['a'], ['b'], []]);
  });

  it.runIf(protocol === 'http')('refuses an input that is called as the id of a request', async () => {
    await using client = new ModelClient(at(server), 'Names');
    await expect(collect(client.streamSample({ id: ['a'], parameters: ['b'] }))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: "input 'id' of model 'Names': generate_stream carries no such thing, a gRPC stream does",
    });
  });

  it('throws what the model throws at once, with its code', async () => {
    await using client = new ModelClient(at(server), count);
    await expect(collect(client.streamSample({ n: [-1] }))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: 'nobody counts to less than nothing',
    });
  });

  it('throws what the model throws later, behind the answers', async () => {
    await using client = new ModelClient(at(server), count);
    let answers = 0;
    const reading = (async () => {
      for await (const _ of client.streamSample({ n: [101] })) answers++;
    })();
    // Events of HTTP have no codes.
    const code = protocol === 'http' ? 'UNKNOWN' : 'NOT_FOUND';
    await expect(reading).rejects.toMatchObject({ code, message: 'no such number' });
    expect(answers).toBe(100);
  });

  it('rejects for an unknown model, and for inputs that do not fit', async () => {
    await using unknown = new ModelClient(at(server), 'Nope');
    await using named = new ModelClient(at(server), { ...count, modelName: 'Nope' });
    await using client = new ModelClient(at(server), count);
    for (const answers of [unknown.streamSample([1]), named.streamSample([1])]) {
      await expect(collect<unknown>(answers)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
    await expect(collect(client.streamSample({ n: 'x' } as never))).rejects.toMatchObject({ code: 'INVALID_ARG' });
  });

  it('cancels the request at the server when the loop is left, and others go on', async () => {
    await using client = new ModelClient(at(server), 'Endless');
    let answers = 0;
    for await (const { data } of client.streamSample([1])) {
      expect(data!.strings()).toEqual(['x']);
      if (++answers === 10) break;
    }
    await endless.aborted;
    await using other = new ModelClient(at(server), count);
    expect(await collect(other.streamSample([2]))).toHaveLength(2);
  });

  it('makes the generator wait for a slow reader', async () => {
    await using client = new ModelClient(at(server), 'Endless');
    const size = 100_000;
    const before = endless.produced;
    const answers = client.streamSample([size]);
    await answers.next();
    // The generator stops by itself: it makes no progress while some other work is done again and again.
    await using other = new ModelClient(at(server), count);
    let seen = -1;
    for (let still = 0; still < 20;) {
      await collect(other.streamSample([3]));
      still = endless.produced === seen ? still + 1 : 0;
      seen = endless.produced;
    }
    expect(seen - before).toBeLessThan(400);
    // And goes on as the reader does.
    for (let i = 0; i < 2 * (seen - before); i++) await answers.next();
    expect(endless.produced).toBeGreaterThan(seen);
    await answers.return();
  });

  it('limits the time of each answer by timeoutMs', async () => {
    await using client = new ModelClient(at(server), 'Silent');
    const answers = client.streamSample([1], { timeoutMs: 1500 });
    expect((await answers.next()).value!['y']!.data[0]).toBe(1);
    await expect(answers.next()).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringContaining('deadline of 1500 ms') as string,
    });
    expect(await answers.next()).toEqual({ done: true, value: undefined });
  });

  it('ends with the signal, with the client, and with return while an answer is waited for', async () => {
    const client = new ModelClient(at(server), 'Silent');
    const controller = new AbortController();
    const signalled = client.streamSample([1], { signal: controller.signal });
    const left = client.streamSample([1]);
    const closed = client.streamSample([1]);
    await Promise.all([signalled, left, closed].map((answers) => answers.next()));
    const nexts = [signalled, left, closed].map((answers) => answers.next().catch((error: unknown) => error));
    controller.abort();
    await left.return();
    expect(await nexts[0]).toMatchObject({ code: 'CANCELLED' });
    expect(await nexts[1]).toEqual({ done: true, value: undefined });
    await client.close();
    expect(await nexts[2]).toMatchObject({ code: 'CANCELLED', message: 'ModelClient is closed' });
    await expect(client.streamSample([1]).next()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('runs beside many others over one client, each with its own answers', async () => {
    await using client = new ModelClient(at(server), count);
    const streams = await Promise.all(Array.from({ length: 50 }, (_, n) => collect(client.streamSample([n]))));
    streams.forEach((answers, n) =>
      expect(answers.map(({ i }) => i!.data[0])).toEqual(Array.from({ length: n }, (_, i) => i)),
    );
  });
});

describe('a stream over HTTP', () => {
  it('refuses what generate_stream cannot carry, and says what can', async () => {
    await using server = await startServer((triton) => bindModels(triton, { produced: 0, aborted: Promise.resolve() }));
    await using client = new ModelClient(server.http, count);
    const refusal = (answers: AsyncIterable<unknown>) => collect(answers).catch((error: unknown) => error);
    expect(await refusal(client.streamSample([1], { sequence: { id: 1 } }))).toMatchObject({ code: 'UNSUPPORTED' });
    expect(await refusal(client.streamSample([1], { parameters: { n: 5 } }))).toMatchObject({
      code: 'INVALID_ARG',
      message:
        "parameter 'n' is called as an input of model 'Count': generate_stream carries no such thing, a gRPC stream does",
    });
    await using open = new ModelClient(server.http, { ...echo, config: { decoupled: true } });
    expect(await refusal(open.streamSample({ x: Tensor.from('float16', [[1]]) }))).toMatchObject({
      code: 'UNSUPPORTED',
      message: "input 'x' of model 'Echo' is FP16: generate_stream carries no such thing, a gRPC stream does",
    });
    const wide = defineModel({
      ...echo,
      inputs: { x: { dtype: 'float32', shape: [-1, -1] } },
      config: { decoupled: true },
    });
    await using floats = new ModelClient(server.http, wide);
    expect(
      await refusal(
        floats.streamSample({
          x: [
            [1, 2],
            [3, 4],
          ],
        }),
      ),
    ).toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('has shape [1,2,2], which the server would take for [1,1,4]') as string,
    });
  });
});
