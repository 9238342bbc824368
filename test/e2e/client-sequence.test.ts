// `client.sequence()`: START and END without the caller's doing, order over both wires, and what failures leave behind.
import { setImmediate as turn } from 'node:timers/promises';
import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { defineModel, stream, Triton, TritonError, type InferenceRequest } from 'tstriton';
import { ModelClient, type InferSequence } from 'tstriton/client';
import { inProcess, type RunningInProcess } from 'tstriton/testing';

import { FREE_PORTS, gate, startServer, type RunningServer } from '../support/start-server.js';

const X = { dtype: 'int32', shape: [1] } as const;
const total = defineModel({
  modelName: 'Total',
  inputs: { x: X },
  outputs: { total: X },
  config: {
    maxBatchSize: 8,
    sequenceBatching: { maxSequenceIdleMicroseconds: 60_000_000, state: () => ({ sum: 0 }) },
  },
  strict: true,
});
const bytes = defineModel({
  modelName: 'Bytes',
  inputs: { text: { dtype: 'string', shape: [-1] }, n: { dtype: 'float64', shape: [2] } },
  outputs: { seen: { dtype: 'string', shape: [1] } },
  config: { batching: false, sequenceBatching: { maxSequenceIdleMicroseconds: 60_000_000 } },
  strict: true,
});
const brief = defineModel({
  ...total,
  modelName: 'Brief',
  config: { sequenceBatching: { maxSequenceIdleMicroseconds: 20_000 } },
});

/** What the callables saw, in order: `id x` with flags. */
let seen: string[] = [];
let held = gate();
let begun = gate();
beforeEach(() => {
  seen = [];
  held = gate();
  begun = gate();
});

async function addUp({ inputs: { x }, sequence }: InferenceRequest) {
  const value = Number(x!.data[0]);
  const { id, start, end, state } = sequence!;
  seen.push(`${id} ${value}${start ? ' START' : ''}${end ? ' END' : ''}`);
  if (value === -1) throw new TritonError('INVALID_ARG', 'there is no -1');
  if (value === 1000) {
    begun.open();
    await held.opened;
  }
  const kept = (state ?? { sum: 0 }) as { sum: number };
  kept.sum += value;
  return { total: [[kept.sum]] };
}
const inferFunc = (requests: readonly InferenceRequest[]) => requests.map(addUp);

/** Its stop does not wait for the sequences that live on. */
function serve(ports: { readonly httpPort?: number; readonly grpcPort?: number } = {}): Promise<RunningServer> {
  return startServer(
    (triton) => {
      triton.bind({ ...total, inferFunc });
      triton.bind({ ...brief, inferFunc });
      triton.bind({
        ...bytes,
        inferFunc: (requests) =>
          requests.map(({ inputs: { text, n }, sequence }) => {
            seen.push(JSON.stringify([text.data, Array.from(n.data), sequence!.end]));
            return { seen: ['ok'] };
          }),
      });
      triton.bind({
        modelName: 'Count',
        inputs: { x: X },
        outputs: { i: X },
        config: { decoupled: true },
        inferFunc: stream(function* ({ x }) {
          for (let i = 0; i < x.data[0]!; i++) yield { i: [[i]] };
        }),
      });
    },
    { exitTimeoutSecs: 0, ...ports },
  );
}

let server: RunningServer;
let own: RunningInProcess;
beforeAll(async () => {
  server = await serve();
  const triton = new Triton({ ...FREE_PORTS, exitTimeoutSecs: 0 });
  triton.bind({ ...total, inferFunc });
  own = await inProcess(triton);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

type Totals = InferSequence<{ readonly x: readonly number[] }, { readonly total: { readonly data: Int32Array } }>;
const sum = async (sequence: Totals, x: number) => (await sequence.infer({ x: [x] })).total.data[0];
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as TritonError,
  );

describe.each([['http'], ['grpc'], ['inProcess']] as const)('a sequence over %s', (wire) => {
  const ofTotal = () => new ModelClient(wire === 'inProcess' ? own : server[wire], total);

  it('says START with its first request and END with its last', async () => {
    await using client = ofTotal();
    const sequence = client.sequence({ id: `${wire} flags` });
    expect([await sum(sequence, 1), await sum(sequence, 2)]).toEqual([1, 3]);
    expect((await sequence.end({ x: [3] })).total.data[0]).toBe(6);
    expect(seen).toEqual([`${wire} flags 1 START`, `${wire} flags 2`, `${wire} flags 3 END`]);
    expect(sequence.isOver).toBe(true);
    await sequence.end();
    await expect(sequence.infer({ x: [4] })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `sequence ${wire} flags has ended: it takes no more requests`,
    });
    expect(seen).toHaveLength(3);
  });

  it('starts and ends with its only request', async () => {
    await using client = ofTotal();
    await client.sequence({ id: 7 }).end({ x: [5] });
    expect(seen).toEqual(['7 5 START END']);
  });

  it('keeps the order of calls that overlap, apart from those of other sequences', async () => {
    await using client = ofTotal();
    const answers = await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const sequence = client.sequence();
        const sums = await Promise.all(Array.from({ length: 10 }, (__, n) => sum(sequence, 100 * i + n)));
        await sequence.end();
        return sums;
      }),
    );
    answers.forEach((sums, i) => {
      let expected = 0;
      expect(sums).toEqual(sums.map((_, n) => (expected += 100 * i + n)));
    });
  });

  it('sends END with zeros when it is disposed, behind the requests under way', async () => {
    await using client = ofTotal();
    let answer;
    {
      await using sequence = client.sequence({ id: 2n ** 60n });
      answer = Promise.all([sum(sequence, 8), sum(sequence, 9)]);
    }
    expect(await answer).toEqual([8, 17]);
    expect(seen).toEqual([8, 9, 0].map((x) => `${2n ** 60n} ${x}${x === 8 ? ' START' : x === 0 ? ' END' : ''}`));
  });

  it('sends nothing when it is disposed without a request', async () => {
    await using client = ofTotal();
    {
      await using sequence = client.sequence();
      expect(sequence.isOver).toBe(false);
    }
    await client.sequence().end();
    expect(seen).toEqual([]);
  });

  it('says START again when the first request failed, and goes on behind one that fails later', async () => {
    await using client = ofTotal();
    await using sequence = client.sequence({ id: 3 });
    const outcomes = await Promise.allSettled([-1, 5, -1, 6].map((x) => sum(sequence, x)));
    expect(outcomes.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message))).toEqual([
      'there is no -1',
      5,
      'there is no -1',
      11,
    ]);
    expect(seen).toEqual(['3 -1 START', '3 5 START', '3 -1', '3 6']);
  });

  it('ends at the server although its first request failed', async () => {
    await using client = ofTotal();
    await failure(client.sequence({ id: 4 }).end({ x: [-1] }));
    const sequence = client.sequence({ id: 5 });
    await failure(sequence.infer({ x: [-1] }));
    await sequence.end();
    expect(seen).toEqual(['4 -1 START END', '5 -1 START', '5 0 END']);
  });

  it('refuses inputs that do not fit before it sends them', async () => {
    await using client = ofTotal();
    await using sequence = client.sequence({ id: 6 });
    await expect(sequence.infer({ x: [1, 2] })).rejects.toMatchObject({ code: 'INVALID_ARG' });
    expect(seen).toEqual([]);
    expect(await sum(sequence, 2)).toBe(2);
    await expect(sequence.infer({ x: [1, 2] })).rejects.toMatchObject({ code: 'INVALID_ARG' });
    expect(await sum(sequence, 3)).toBe(5);
    expect(seen).toEqual(['6 2 START', '6 3']);
  });

  it('ends although its signal was aborted', async () => {
    await using client = ofTotal();
    const controller = new AbortController();
    const sequence = client.sequence({ id: 9, signal: controller.signal });
    expect(await sum(sequence, 1)).toBe(1);
    const answer = failure(sequence.infer({ x: [1000] }));
    await begun.opened;
    controller.abort();
    expect(await answer).toMatchObject({ code: 'CANCELLED' });
    expect(await failure(sequence.infer({ x: [2] }))).toMatchObject({ code: 'CANCELLED' });
    held.open();
    await sequence[Symbol.asyncDispose]();
    expect(seen).toEqual(['9 1 START', '9 1000', '9 0 END']);
  });

  it('makes an id of its own, and takes numbers, bigints and texts', async () => {
    await using client = ofTotal();
    const ids = new Set(Array.from({ length: 1000 }, () => client.sequence().id));
    expect(ids.size).toBe(1000);
    for (const id of ids) expect(Number.isSafeInteger(id) && Number(id) > 0).toBe(true);
    for (const id of [0, -1, 1.5, '', 2n ** 64n, NaN]) {
      expect(() => client.sequence({ id })).toThrow(
        /sequence.id must be a text that is not empty or an integer from 1/,
      );
    }
    expect(() => client.sequence({ idle: 1 } as never)).toThrow("unknown option 'idle'");
    await expect(client.sequence().infer({ x: [1] }, { sequence: 1 } as never)).rejects.toThrow(/'sequence'/);
  });
});

describe.each([['http'], ['grpc']] as const)('a sequence over %s', (wire) => {
  it('is told that the server does not keep it any more, and so is each later request', async () => {
    await using client = new ModelClient(server[wire], brief);
    const sequence = client.sequence({ id: 11 });
    await sum(sequence, 1);
    let lost: TritonError | undefined;
    // Each request keeps the sequence alive, so that the waits between them grow.
    for (let pause = 20; lost === undefined; pause *= 2) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      lost = await failure(sequence.infer({ x: [2] }));
    }
    expect(lost).toMatchObject({ code: 'UNAVAILABLE' });
    expect(lost.message).toMatch(/^the server does not keep sequence 11 any more, begin a new one: .*START flag/);
    expect(sequence.isOver).toBe(true);
    expect(await failure(sequence.infer({ x: [3] }))).toBe(lost);
    expect(await failure(sequence.end({ x: [3] }))).toBe(lost);
    const count = seen.length;
    await sequence.end();
    await sequence[Symbol.asyncDispose]();
    expect(seen).toHaveLength(count);
    await using another = client.sequence({ id: 11 });
    expect(await sum(another, 5)).toBe(5);
    expect(seen.at(-1)).toBe('11 5 START');
  });

  it('ends without an error when the server had forgotten it already', async () => {
    await using client = new ModelClient(server[wire], total);
    const sequence = client.sequence({ id: 12 });
    await sum(sequence, 1);
    await using other = new ModelClient(server[wire], total);
    await other.inferSample({ x: [2] }, { sequence: { id: 12, end: true } });
    await sequence.end();
    expect(seen).toEqual(['12 1 START', '12 2 END']);
  });

  it('waits for a server that is not there yet, and learns that another does not know it', async () => {
    const first = await serve();
    const ports = { httpPort: first.triton.httpPort!, grpcPort: first.triton.grpcPort! };
    const retry = { maxAttempts: 100, initialBackoffMs: 20, maxBackoffMs: 50, idempotent: true };
    await using client = new ModelClient(first[wire], total, { retry });
    const sequence = client.sequence({ id: 13 });
    expect(await sum(sequence, 1)).toBe(1);
    await first[Symbol.asyncDispose]();
    // The client learns in the next turns that the server has closed its connection: a request that went there would be lost.
    await turn();
    await turn();
    const [early, known] = [client.sequence({ id: 14 }), failure(sequence.infer({ x: [2] }))];
    const answers = Promise.all([sum(early, 3), sum(early, 4)]);
    await using _second = await serve(ports);
    expect(await answers).toEqual([3, 7]);
    expect((await known)?.message).toMatch(/^the server does not keep sequence 13 any more/);
    expect(seen.toSorted()).toEqual(['13 1 START', '14 3 START', '14 4']);
    await early.end();
  });

  it('has its time limit and its signal for the configuration of the model too', async () => {
    const sockets: Socket[] = [];
    await using listening = createServer((socket) => void sockets.push(socket));
    await once(listening.listen(0, '127.0.0.1'), 'listening');
    const { port } = listening.address() as { readonly port: number };
    await using client = new ModelClient(`${wire}://127.0.0.1:${port}`, 'Total');
    const controller = new AbortController();
    const aborted = client.sequence({ signal: controller.signal }).infer({ x: [1] });
    const late = client.sequence({ timeoutMs: 20 }).infer({ x: [1] });
    expect(await failure(late)).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    controller.abort();
    expect(await failure(aborted)).toMatchObject({ code: 'CANCELLED' });
    for (const socket of sockets) socket.destroy();
  });

  it('sends nothing again that may have been executed, whatever the client says of its other requests', async () => {
    const sockets: Socket[] = [];
    await using listening = createServer((socket) => {
      sockets.push(socket);
      socket.once('data', () => socket.destroy()).on('error', () => {});
    });
    await once(listening.listen(0, '127.0.0.1'), 'listening');
    const { port } = listening.address() as { readonly port: number };
    const retry = { maxAttempts: 5, initialBackoffMs: 1, idempotent: true };
    await using client = new ModelClient(`${wire}://127.0.0.1:${port}`, total, { retry });
    expect(await failure(client.sequence().infer({ x: [1] }))).toMatchObject({ code: 'UNAVAILABLE' });
    expect(sockets).toHaveLength(1);
  });

  it('ends its requests when the client is closed', async () => {
    const client = new ModelClient(server[wire], total);
    const sequence = client.sequence({ id: 15 });
    await sum(sequence, 1);
    const answers = [failure(sequence.infer({ x: [1000] })), failure(sequence.infer({ x: [2] }))];
    await begun.opened;
    await client.close();
    for (const error of await Promise.all(answers)) expect(error?.message).toContain('ModelClient is closed');
    await sequence[Symbol.asyncDispose]();
    held.open();
  });

  it('fails at its time limit, and goes on', async () => {
    await using client = new ModelClient(server[wire], total);
    const sequence = client.sequence({ id: 16, timeoutMs: 300 });
    await sum(sequence, 1);
    const answer = failure(sequence.infer({ x: [1000] }));
    expect(await answer).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    held.open();
    expect(await sum(sequence, 5)).toBe(1006);
    await sequence.end();
  });

  it('ends with empty strings and zeros in the shapes of the last inputs', async () => {
    await using client = new ModelClient(server[wire], bytes);
    const sequence = client.sequence();
    await sequence.infer({ text: ['a'], n: [1, 2] });
    await sequence.infer({ text: ['b', 'c', 'd'], n: [3, 4] });
    await sequence.end();
    expect(seen.at(-1)).toBe(JSON.stringify([['', '', ''], [0, 0], true]));
  });

  it('refuses a decoupled model', async () => {
    await using client = new ModelClient(server[wire], 'Count');
    await expect(client.sequence().infer({ x: [3] })).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: expect.stringContaining("model 'Count' is decoupled") as string,
    });
  });
});

describe('a sequence over gRPC', () => {
  it('does not wait for answers before it sends what is behind them', async () => {
    await using client = new ModelClient(server.grpc, total);
    await using sequence = client.sequence({ id: 17 });
    await sum(sequence, 1);
    const answers = Promise.all([1000, 2, 3].map((x) => sum(sequence, x)));
    await begun.opened;
    const pending = async () => {
      const text = await (await fetch(server.metrics)).text();
      return /nv_inference_pending_request_count\{model="Total"[^}]*\} (\d+)/.exec(text)?.[1];
    };
    await expect.poll(pending).toBe('2');
    held.open();
    expect(await answers).toEqual([1001, 1003, 1006]);
  });

  it('gives its requests ids that are free', async () => {
    await using client = new ModelClient(server.grpc, total);
    await using sequence = client.sequence({ id: 20 });
    await sum(sequence, 1);
    const named = sequence.infer({ x: [2] }, { requestId: '2' });
    expect(await sum(sequence, 3)).toBe(6);
    expect((await named).total.data[0]).toBe(3);
  });

  it('uses one stream for all its requests', async () => {
    await using client = new ModelClient(server.grpc, total, { maxConcurrency: 1 });
    await using sequence = client.sequence({ id: 18, timeoutMs: 10_000 });
    await sum(sequence, 1);
    await sum(sequence, 2);
    // Its stream has the only turn.
    expect(await failure(client.inferSample({ x: [1] }, { timeoutMs: 50 }))).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    await sequence.end();
    const { total: after } = await client.inferSample({ x: [1] }, { sequence: { id: 18, start: true } });
    expect(after.data[0]).toBe(1);
  });
});
