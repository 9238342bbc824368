// Requests that run alone: many executions wait at an instance at once, and each answer is that to its own request.
import { describe, expect, it } from 'vitest';

import { defineModel, sample } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { gate, pendingRequests, startServer } from '../support/start-server.js';

const alone = defineModel({
  modelName: 'Alone',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { batching: false },
});

function numbers(from: number, length: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => from + i);
}

describe.each([{ serverThread: true }, { serverThread: false }])('without batching, with %o', ({ serverThread }) => {
  it.each([
    { kind: 'synchronous', concurrency: 1 },
    { kind: 'asynchronous', concurrency: 1 },
    { kind: 'asynchronous', concurrency: 4 },
  ])('a callable that is $kind, $concurrency at a time, answers each request once', async ({ kind, concurrency }) => {
    const seen = new Map<number, number>();
    // The callable uses the memory of its answers again.
    const memory = new Float32Array(8);
    const answer = ({ data }: { readonly data: Float32Array }) => {
      seen.set(data[0]!, (seen.get(data[0]!) ?? 0) + 1);
      if (kind === 'asynchronous') return { y: data.map((value) => -value) };
      memory.set(data.map((value) => -value));
      return { y: memory.subarray(0, data.length) };
    };
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...alone,
          config: { batching: false, concurrency },
          inferFunc: sample(({ x }) => (kind === 'synchronous' ? answer(x) : Promise.resolve().then(() => answer(x)))),
        }),
      { serverThread },
    );
    const clients = Array.from({ length: 16 }, async (_, client) => {
      await using model = new ModelClient(client % 2 === 0 ? server.http : server.grpc, alone);
      const questions = Array.from({ length: 20 }, async (__, question) => {
        const x = numbers(1 + client * 1000 + question * 10, 1 + (question % 8));
        const { y } = await model.inferSample({ x });
        expect(y!.data).toEqual(x.map((value) => -value));
      });
      await Promise.all(questions);
    });
    await Promise.all(clients);
    expect(seen.size).toBe(320);
    expect([...new Set(seen.values())]).toEqual([1]);
  });

  it('a request that is cancelled while it waits never runs', async () => {
    const ran: number[] = [];
    const release = gate();
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...alone,
          inferFunc: sample(async ({ x }) => {
            ran.push(x.data[0]!);
            if (x.data[0] === 0) await release.opened;
            return { y: x };
          }),
        }),
      { serverThread },
    );
    await using model = new ModelClient(server.grpc, alone);
    for (let i = 100; i < 110; i++) await model.inferSample({ x: numbers(i, 1) });
    ran.length = 0;
    const first = model.inferSample({ x: numbers(0, 1) });
    await expect.poll(() => ran).toEqual([0]);
    const leaving = new AbortController();
    const gone = model.inferSample({ x: numbers(1, 1) }, { signal: leaving.signal });
    const pending = async () => pendingRequests(await (await fetch(server.metrics)).text());
    await expect.poll(pending).toBe(1);
    const others = [2, 3, 4].map((value) => model.inferSample({ x: numbers(value, 1) }));
    await expect.poll(pending).toBe(4);
    leaving.abort();
    await expect(gone).rejects.toThrow('was cancelled by its signal');
    await expect.poll(pending).toBe(3);
    release.open();
    await Promise.all([first, ...others]);
    expect(ran.toSorted((a, b) => a - b)).toEqual([0, 2, 3, 4]);
  });
});
