// Several requests on one gRPC stream: `client.stream()`, its answers in order, its limits and its end.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { defineModel, stream, TritonError } from 'tstriton';
import { ModelClient, type StreamAnswer } from 'tstriton/client';

import { gate, startServer, type RunningServer } from '../support/start-server.js';

const X = { x: { dtype: 'float32', shape: [-1] } } as const;
const double = defineModel({ modelName: 'Double', inputs: X, outputs: { y: X.x }, config: { maxBatchSize: 1 } });
const count = defineModel({
  modelName: 'Count',
  inputs: { to: { dtype: 'int32', shape: [1] } },
  outputs: { i: { dtype: 'int32', shape: [-1] } },
  config: { decoupled: true, batching: false },
});

const state = { first: gate(), begun: gate(), aborted: gate(), made: 0 };
let server: RunningServer;
beforeEach(() => Object.assign(state, { first: gate(), begun: gate(), aborted: gate(), made: 0 }));
beforeAll(async () => {
  server = await startServer((triton) => {
    triton.bind({
      ...double,
      inferFunc: (requests) =>
        requests.map(async ({ inputs: { x }, parameters, signal }) => {
          if (parameters['hold'] === true) {
            const { first, begun, aborted } = state;
            signal.addEventListener('abort', () => aborted.open());
            begun.open();
            await Promise.race([first.opened, aborted.opened]);
          }
          if (x.data[0] === -1) throw new TritonError('INVALID_ARG', 'there is no -1');
          return { y: x.map((value) => value * 2) };
        }),
    });
    triton.bind({
      ...count,
      inferFunc: stream(async function* ({ to }, { signal }) {
        const { aborted } = state;
        signal.addEventListener('abort', () => aborted.open());
        for (let i = 0; i < to.data[0]!; i++) {
          state.made++;
          yield { i: to.data[0] === 10_000 ? new Int32Array(8192).fill(i) : [i] };
        }
      }),
    });
  });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => server[Symbol.asyncDispose]());

async function all<T>(answers: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const answer of answers) found.push(answer);
  return found;
}

type Doubled = StreamAnswer<{ readonly y?: { readonly data: Float32Array } | undefined }>;
const shown = ({ requestId, outputs, error, final }: Doubled) =>
  [requestId, error?.message ?? [...(outputs?.y?.data ?? [])], final] as const;

describe('a stream of requests', () => {
  it('sends all that it was given before its end, awaited or not', async () => {
    await using client = new ModelClient(server.grpc, double);
    await using asked = client.stream();
    const sent = [1, 2, 3].map((value) => asked.send({ x: [value] }));
    asked.end();
    await expect(asked.send({ x: [4] })).rejects.toThrow('the stream has ended');
    const [answers, ids] = await Promise.all([all(asked), Promise.all(sent)]);
    expect(answers.map(shown)).toEqual(ids.map((id, i) => [id, [2 * (i + 1)], true]));
    expect(ids).toEqual(['1', '2', '3']);
  });

  it('gives all answers to a reader who asked before the first request', async () => {
    await using client = new ModelClient(server.grpc, double);
    await using asked = client.stream();
    const answers = all(asked);
    for (const value of [1, 2, 3]) void asked.send({ x: [value] });
    asked.end();
    expect((await answers).map(shown)).toEqual([
      ['1', [2], true],
      ['2', [4], true],
      ['3', [6], true],
    ]);
  });

  it('answers an ordinary model in the order of the requests, whatever fails in between', async () => {
    await using client = new ModelClient(server.grpc, double);
    await using asked = client.stream();
    expect(await asked.send({ x: [1] }, { parameters: { hold: true } })).toBe('1');
    expect(await asked.send({ x: [-1, 2] }, { requestId: 'bad' })).toBe('bad');
    await asked.sendBatch({ x: [[3, 4, 5]] });
    asked.end();
    state.first.open();
    const answers = await all(asked);
    expect(answers.map(shown)).toEqual([
      ['1', [2], true],
      ['bad', 'there is no -1', true],
      ['2', [6, 8, 10], true],
    ]);
    expect(answers[1]!.error!.code).toBe('INVALID_ARG');
    expect(await asked.next()).toEqual({ done: true, value: undefined });
    await expect(asked.send({ x: [1] })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('gives answers while requests are still being sent', async () => {
    await using client = new ModelClient(server.grpc, double);
    await using asked = client.stream();
    for (let i = 1; i <= 20; i++) {
      const [{ value }] = await Promise.all([asked.next(), asked.send({ x: [i] })]);
      expect(shown(value!)).toEqual([String(i), [2 * i], true]);
    }
  });

  it('tells the last answer of a decoupled model apart, and whose it is', async () => {
    await using client = new ModelClient(server.grpc, count);
    await using asked = client.stream();
    await Promise.all([asked.send({ to: [3] }, { requestId: 'a' }), asked.send({ to: [1] }, { requestId: 'b' })]);
    await asked.send({ to: [0] }, { requestId: 'c' });
    asked.end();
    const answers = await all(asked);
    for (const [id, values] of [
      ['a', [0, 1, 2]],
      ['b', [0]],
      ['c', []],
    ] as const) {
      const own = answers.filter(({ requestId }) => requestId === id);
      expect(own.flatMap(({ outputs }) => [...(outputs?.i?.data ?? [])])).toEqual(values);
      expect(own.map(({ final }) => final)).toEqual([...own.slice(1).map(() => false), true]);
    }
  });

  it('makes a generator wait for a slow reader', async () => {
    await using client = new ModelClient(server.grpc, count);
    await using asked = client.stream();
    await asked.send({ to: [10_000] });
    for (let i = 0; i < 5; i++) expect((await asked.next()).value?.outputs?.i?.data[0]).toBe(i);
    let before = -1;
    await vi.waitFor(
      () => {
        const isStill = state.made === before;
        before = state.made;
        expect(isStill).toBe(true);
      },
      { timeout: 10_000, interval: 100 },
    );
    // 32 kB each: the windows, the sockets and the server's own room together are far less than 10,000 of them.
    expect(state.made).toBeLessThan(2000);
    await asked.return();
    await state.aborted.opened;
  });

  it('makes a sender wait for a server that takes no more', async () => {
    await using client = new ModelClient(server.grpc, double, { timeoutMs: 60_000 });
    const asked = client.stream();
    await asked.send({ x: [1] }, { parameters: { hold: true } });
    let sent = 0;
    const sending = (async () => {
      for (; sent < 200; sent++) await asked.send({ x: new Float32Array(1_000_000).fill(sent) });
    })();
    const outcome = sending.catch((error: unknown) => error);
    let before = -1;
    await vi.waitFor(
      () => {
        const isStill = sent === before;
        before = sent;
        expect(isStill).toBe(true);
      },
      { timeout: 20_000, interval: 300 },
    );
    expect(sent).toBeLessThan(100);
    await asked[Symbol.asyncDispose]();
    await state.aborted.opened;
    expect(await outcome).toMatchObject({ code: 'CANCELLED' });
  });

  it('cancels its requests at the server when it is left, and ends its loop', async () => {
    await using client = new ModelClient(server.grpc, double);
    const asked = client.stream();
    await asked.send({ x: [1] }, { parameters: { hold: true } });
    const next = asked.next();
    await state.begun.opened;
    await asked.return();
    expect(await next).toEqual({ done: true, value: undefined });
    await state.aborted.opened;
  });

  it('refuses what does not fit, and goes on', async () => {
    await using client = new ModelClient(server.grpc, double);
    await using asked = client.stream();
    await expect(asked.send({ z: [1] } as never)).rejects.toMatchObject({ code: 'INVALID_ARG' });
    await expect(asked.send({ x: [1] }, { timeoutMs: 3 } as never)).rejects.toThrow("unknown option 'timeoutMs'");
    await asked.send({ x: [1] }, { requestId: 'a', parameters: { hold: true } });
    await expect(asked.send({ x: [2] }, { requestId: 'a' })).rejects.toThrow("requestId 'a' is that of a request");
    await expect(asked.send({ x: [2] }, { requestId: '' })).rejects.toThrow('requestId is empty');
    state.first.open();
    expect(shown((await asked.next()).value!)).toEqual(['a', [2], true]);
    await asked.send({ x: [4] }, { requestId: 'a' });
    expect(shown((await asked.next()).value!)).toEqual(['a', [8], true]);
  });

  it('rejects when no answer comes in time, and not while it is idle', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    await using client = new ModelClient(server.grpc, double);
    const asked = client.stream({ timeoutMs: 200 });
    const first = asked.next();
    // Nothing was asked: nobody waits for the server.
    await vi.advanceTimersByTimeAsync(300);
    await asked.send({ x: [5] });
    expect(shown((await first).value!)).toEqual(['1', [10], true]);
    await vi.advanceTimersByTimeAsync(300);
    await asked.send({ x: [1] }, { parameters: { hold: true } });
    let isLate = false;
    const late = asked.next().catch((error: unknown) => {
      isLate = true;
      return error;
    });
    await state.begun.opened;
    await vi.advanceTimersByTimeAsync(199);
    expect(isLate).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await late).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await state.aborted.opened;
  });

  it('ends with its signal, its client, or the server', async () => {
    const controller = new AbortController();
    const client = new ModelClient(server.grpc, double);
    const [bySignal, byClient] = [client.stream({ signal: controller.signal }), client.stream()];
    await bySignal.send({ x: [1] }, { parameters: { hold: true } });
    await byClient.send({ x: [2] }, { parameters: { hold: true } });
    await state.begun.opened;
    controller.abort();
    await expect(bySignal.next()).rejects.toMatchObject({ code: 'CANCELLED' });
    await state.aborted.opened;
    await client.close();
    await expect(byClient.next()).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(client.stream().send({ x: [3] })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await using nobody = new ModelClient('grpc://127.0.0.1:1', double);
    const lost = nobody.stream();
    const [sent, got] = await Promise.allSettled([lost.send({ x: [4] }), lost.next()]);
    expect([sent, got]).toEqual([
      expect.objectContaining({ status: 'fulfilled' }),
      expect.objectContaining({ reason: expect.objectContaining({ code: 'UNAVAILABLE' }) as unknown }),
    ]);
  });

  it('keeps the answers that came before the server ended it', async () => {
    const leaving = await startServer((triton) => {
      const inferFunc = (requests: readonly { readonly inputs: { readonly x: { readonly data: Float32Array } } }[]) =>
        requests.map(({ inputs: { x } }) => ({ y: x.data.map((value) => value * 3) }));
      triton.bind({ ...double, inferFunc });
    });
    await using client = new ModelClient(leaving.grpc, double);
    await using asked = client.stream();
    for (const x of [[1], [2, 3]]) await asked.send({ x });
    expect(shown((await asked.next()).value!)).toEqual(['1', [3], true]);
    await leaving[Symbol.asyncDispose]();
    const sent = () => asked.send({ x: [4] }).then(String, String);
    await expect.poll(sent).toBe('TritonError: the server has ended the stream');
    expect(shown((await asked.next()).value!)).toEqual(['2', [6, 9], true]);
    await expect(asked.next()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await asked.next()).toEqual({ done: true, value: undefined });
  });

  it('ends without having asked anything', async () => {
    await using client = new ModelClient(server.grpc, double);
    const asked = client.stream();
    asked.end();
    expect(await all(asked)).toEqual([]);
  });

  it('is refused over HTTP', async () => {
    await using client = new ModelClient(server.http, double);
    expect(() => client.stream()).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }));
  });
});
