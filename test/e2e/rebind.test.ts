// What is bound, replaced and unbound while a server runs, in whatever order and however much at once.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { batch, defineModel, stream, Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { openStream } from '../support/open-stream.js';
import { FREE_PORTS, gate, inferJson, startServer } from '../support/start-server.js';

const model = defineModel({
  modelName: 'Changing',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
});
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

/** A model that answers with a number and notes its beginning and end. */
function answering(number: number, events: string[] = []) {
  return {
    ...model,
    setup: () => void events.push(`setup ${number}`),
    teardown: () => void events.push(`teardown ${number}`),
    inferFunc: (requests: readonly unknown[]) => requests.map(() => ({ y: [[number]] })),
  };
}

function failing(reason: string) {
  return {
    ...answering(-1),
    setup: () => {
      throw new Error(reason);
    },
  };
}

/** The first answer of a stream that is given up then. */
async function firstOf(http: string, name: string): Promise<unknown> {
  await using client = await openStream(http, name);
  return await client.next();
}

async function answerOf(http: string): Promise<unknown> {
  const { status, outputs } = await inferJson(http, 'Changing', ONE);
  return status === 200 ? outputs[0]!.data[0] : status;
}

describe.each([{ serverThread: true }, { serverThread: false }])('a model with %o', ({ serverThread }) => {
  it('that is bound while the server starts is set up once', async () => {
    const events: string[] = [];
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    const running = triton.run();
    await new Promise((resolve) => setImmediate(resolve));
    triton.bind(answering(1, events));
    await running;
    expect(await answerOf(`http://127.0.0.1:${triton.httpPort}`)).toBe(1);
    await triton.stop();
    expect(events).toEqual(['setup 1', 'teardown 1']);
  });

  it('that is bound again takes the place of the one before where it may', async () => {
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    triton.bind(answering(1), { replace: true });
    expect(() => triton.bind(answering(2))).toThrow('bind with { replace: true } where it may be there');
    triton.bind(answering(2), { replace: true });
    await triton.run();
    await using _ = { [Symbol.asyncDispose]: () => triton.stop() };
    const http = `http://127.0.0.1:${triton.httpPort}`;
    expect(await answerOf(http)).toBe(2);
    triton.bind(answering(3), { replace: true }).bind(answering(4), { replace: true });
    await triton.ready('Changing');
    expect(await answerOf(http)).toBe(4);
    triton.bind(failing('no weights'), { replace: true });
    await expect(triton.ready('Changing')).rejects.toThrow('no weights');
    expect(await answerOf(http)).toBe(4);
    await triton.ready('Changing');
    expect(() => triton.bind(answering(5), { replac: true } as never)).toThrow("did you mean 'replace'?");
  });

  it('that did not load is not ready, and is once it is replaced by one that does', async () => {
    await using server = await startServer((triton) => triton.bind(failing('no weights')), {
      serverThread,
      exitOnError: false,
    });
    expect(server.triton.isReady).toBe(false);
    await expect(server.triton.rebind(failing('still none'))).rejects.toThrow('still none');
    await server.triton.rebind(answering(2));
    expect(server.triton.isReady).toBe(true);
    expect(await answerOf(server.http)).toBe(2);
  });

  it('that is replaced again before the replacement has failed harms nobody when that fails too', async () => {
    await using server = await startServer((triton) => triton.bind(answering(1)), { serverThread });
    const { triton } = server;
    triton.bind(failing('no weights'), { replace: true }).bind(failing('still none'), { replace: true });
    await expect(triton.ready('Changing')).rejects.toThrow('still none');
    await triton.ready('Changing');
    expect(await answerOf(server.http)).toBe(1);
  });

  it('that did not load, as its replacement, harms nobody', async () => {
    const config = { serverThread, exitOnError: false };
    await using server = await startServer((triton) => triton.bind(failing('no weights')), config);
    server.triton.bind(failing('still none'), { replace: true });
    await expect(server.triton.ready()).rejects.toThrow('still none');
    await expect(server.triton.ready()).rejects.toThrow('no weights');
    server.triton.bind(answering(2), { replace: true });
    await server.triton.ready();
    expect(await answerOf(server.http)).toBe(2);
  });

  it('is ready when the last of several replacements is there', async () => {
    await using server = await startServer((triton) => triton.bind(answering(1)), { serverThread });
    const [first, second] = [gate(), gate()];
    server.triton.bind({ ...answering(2), setup: () => first.opened }, { replace: true });
    server.triton.bind({ ...answering(3), setup: () => second.opened }, { replace: true });
    first.open();
    const ready = server.triton.ready('Changing');
    second.open();
    await ready;
    expect(await answerOf(server.http)).toBe(3);
  });

  it('that has a client with an open stream is replaced, unbound and bound all the same', async () => {
    const events: string[] = [];
    const listened = (number: number) => ({
      ...answering(number, events),
      inferFunc: stream(async function* () {
        for (;;) {
          yield { y: [[number]] };
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      }),
      config: { decoupled: true },
    });
    await using server = await startServer((triton) => triton.bind(listened(1)), { serverThread });
    const { triton, http } = server;
    const clients: (readonly [AsyncDisposable & { readonly next: () => Promise<unknown> }, number])[] = [];
    const listen = async (number: number) => {
      const client = await openStream(http, 'Changing');
      expect(await client.next()).toBe(number);
      clients.push([client, number]);
    };
    await listen(1);
    const changes = [triton.rebind(listened(2))];
    await expect.poll(() => events).toContain('setup 2');
    await triton.ready('Changing');
    await expect.poll(() => firstOf(http, 'Changing')).toBe(2);
    await listen(2);
    triton.bind(listened(3), { replace: true });
    await triton.ready('Changing');
    await listen(3);
    changes.push(triton.unbind('Changing'));
    await expect.poll(async () => (await fetch(`${http}/v2/models/Changing/ready`)).status).toBe(400);
    triton.bind(listened(4));
    await triton.ready('Changing');
    await listen(4);
    // Each client goes on with what it began with.
    for (const [client, number] of clients) expect(await client.next()).toBe(number);
    expect(events).toEqual(['setup 1', 'setup 2', 'setup 3', 'setup 4']);
    for (const [client] of clients.slice(0, 3)) await client[Symbol.asyncDispose]();
    await Promise.all(changes);
    await expect.poll(() => events.slice(4).sort()).toEqual(['teardown 1', 'teardown 2', 'teardown 3']);
    expect(await clients[3]![0].next()).toBe(4);
    await clients[3]![0][Symbol.asyncDispose]();
  });

  it('that is replaced several times at once ends as the last one', async () => {
    const events: string[] = [];
    await using server = await startServer((triton) => triton.bind(answering(0, events)), { serverThread });
    const outcomes = await Promise.allSettled([
      server.triton.rebind(answering(1, events)),
      server.triton.rebind(failing('not this one')),
      server.triton.rebind(answering(2, events)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await answerOf(server.http)).toBe(2);
    expect(events).toEqual(['setup 0', 'setup 1', 'teardown 0', 'setup 2', 'teardown 1']);
  });

  it('is unbound while it is replaced, and its name is free', async () => {
    const begun = gate();
    const released = gate();
    const events: string[] = [];
    await using server = await startServer((triton) => triton.bind(answering(0, events)), { serverThread });
    const replaced = server.triton.rebind({
      ...answering(1, events),
      setup: async () => {
        begun.open();
        await released.opened;
      },
    });
    await begun.opened;
    const unbound = server.triton.unbind('Changing');
    server.triton.bind(answering(2, events));
    released.open();
    await expect(replaced).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await unbound;
    await server.triton.ready('Changing');
    expect(await answerOf(server.http)).toBe(2);
    expect(events).toEqual(['setup 0', 'teardown 1', 'teardown 0', 'setup 2']);
  });

  it('that is replaced twice, unbound and bound again at once is the one that was bound last', async () => {
    const events: string[] = [];
    const server = await startServer((triton) => void triton.bind(answering(1, events)), { serverThread });
    const { triton, http } = server;
    const [started, held] = [gate(), gate()];
    const setup = async () => {
      events.push('setup 2');
      started.open();
      await held.opened;
    };
    const slow = { ...answering(2, events), setup };
    const replaced = [triton.rebind(slow), triton.rebind(answering(3, events))];
    await started.opened;
    const unbound = triton.unbind('Changing');
    triton.bind(answering(4, events));
    held.open();
    const outcomes = (await Promise.allSettled(replaced)).map((outcome) =>
      String((outcome as PromiseRejectedResult).reason),
    );
    expect(outcomes).toEqual([
      "TritonError: model 'Changing' version 1 was unbound while it was replaced",
      "TritonError: model 'Changing' version 1 was unbound before it was replaced",
    ]);
    await unbound;
    await triton.ready('Changing');
    expect(await answerOf(http)).toBe(4);
    await triton.stop();
    expect(events.toSorted()).toEqual(['setup 1', 'setup 2', 'setup 4', 'teardown 1', 'teardown 2', 'teardown 4']);
  });

  it('that is unbound while it takes the place of another is not kept until the server stops', async () => {
    await using server = await startServer((triton) => void triton.bind(answering(0)), { serverThread });
    const { triton } = server;
    const unbindWhileReplaced = async () => {
      const slow = answering(1);
      const [begun, held] = [gate(), gate()];
      const setup = async () => {
        begun.open();
        await held.opened;
      };
      const replaced = triton.rebind({ ...slow, setup });
      await begun.opened;
      const unbound = triton.unbind('Changing');
      held.open();
      await expect(replaced).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await unbound;
      return new WeakRef(slow.inferFunc);
    };
    const callable = await unbindWhileReplaced();
    await vi.waitFor(() => {
      collectGarbage();
      // An assertion about the callable itself would keep it.
      expect(callable.deref() === undefined).toBe(true);
    });
  });

  it('stays as it is when the server stops while it is replaced', async () => {
    const begun = gate();
    const released = gate();
    const events: string[] = [];
    const triton = new Triton({ ...FREE_PORTS, serverThread, exitTimeoutSecs: 0 });
    triton.bind(answering(0, events));
    await triton.run();
    const replaced = triton.rebind({
      ...answering(1, events),
      setup: async () => {
        begun.open();
        await released.opened;
      },
    });
    await begun.opened;
    const stopped = triton.stop();
    released.open();
    await expect(replaced).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await stopped;
    expect(events.toSorted()).toEqual(['setup 0', 'teardown 0', 'teardown 1']);
    await triton.run();
    expect(await answerOf(`http://127.0.0.1:${triton.httpPort}`)).toBe(0);
    await triton.stop();
  });

  it('is torn down when it was replaced while the server stopped', async () => {
    const events: string[] = [];
    const server = await startServer((triton) => void triton.bind(answering(1, events)), { serverThread });
    const stopped = server.triton.stop();
    // From here on the server takes no more changes, and has yet to end.
    await new Promise((resolve) => queueMicrotask(() => queueMicrotask(() => resolve(undefined))));
    const replaced = server.triton.rebind(answering(2, events));
    await Promise.all([replaced, stopped]);
    expect(events).toEqual(['setup 1', 'teardown 1']);
    await server.triton.run();
    await server.triton.stop();
    expect(events).toEqual(['setup 1', 'teardown 1', 'setup 2', 'teardown 2']);
  });

  it('answers under load all the while it is replaced', async () => {
    await using server = await startServer((triton) => triton.bind(answering(0)), { serverThread });
    const answers: unknown[] = [];
    let done = false;
    const clients = Array.from({ length: 4 }, async () => {
      while (!done) answers.push(await answerOf(server.http));
    });
    for (let number = 1; number <= 5; number++) await server.triton.rebind(answering(number));
    done = true;
    await Promise.all(clients);
    expect(answers.filter((answer) => typeof answer !== 'number' || answer > 5)).toEqual([]);
    expect(await answerOf(server.http)).toBe(5);
  });

  it('takes no answers of its predecessor from the cache', async () => {
    const cached = (number: number) => ({ ...answering(number), config: { responseCache: true } });
    await using server = await startServer((triton) => triton.bind(cached(1)), {
      serverThread,
      responseCacheByteSize: 1_000_000,
    });
    expect([await answerOf(server.http), await answerOf(server.http)]).toEqual([1, 1]);
    await server.triton.rebind(cached(2));
    expect(await answerOf(server.http)).toBe(2);
  });

  it('is gone although its teardown fails', async () => {
    await using server = await startServer(
      (triton) =>
        triton.bind({
          ...answering(1),
          teardown: () => {
            throw new Error('nothing to tear down');
          },
        }),
      { serverThread },
    );
    await server.triton.unbind('Changing');
    expect(await answerOf(server.http)).toBe(404);
  });
});

describe.each(['http', 'grpc'] as const)('a client that has the name of a model, over %s', (protocol) => {
  it('asks for the tensors again after a request that does not fit the model that took its place', async () => {
    await using server = await startServer((triton) => void triton.bind(answering(1)));
    await using client = new ModelClient(server[protocol], 'Changing');
    await client.inferSample({ x: [1] });
    // Of a client that has been there for a while.
    const now = performance.now.bind(performance);
    let minutes = 1;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + minutes * 60_000);
    onTestFinished(() => clock.mockRestore());
    const inputs = { words: { dtype: 'string', shape: [-1] } } as const;
    const outputs = { y: { dtype: 'int32', shape: [1] } } as const;
    const counts = batch<typeof inputs, typeof outputs>(({ words }) => ({ y: [[words.shape[1]!]] }));
    server.triton.bind({ modelName: 'Changing', inputs, outputs, inferFunc: counts }, { replace: true });
    await vi.waitFor(async () => expect(await answerOf(server.http)).toBe(400));
    await expect(client.inferSample({ words: ['a', 'b'] })).rejects.toMatchObject({ code: 'INVALID_ARG' });
    expect((await client.inferSample({ words: ['a', 'b'] }))['y']!.toNested()).toEqual([2]);

    minutes = 2;
    const sevens = stream(function* () {
      yield { y: [[7]] };
    });
    server.triton.bind({ ...model, config: { decoupled: true }, inferFunc: sevens }, { replace: true });
    await vi.waitFor(async () => expect(await answerOf(server.http)).toBe(501));
    await expect(client.streamSample({ x: [1] }).next()).rejects.toMatchObject({ code: 'INVALID_ARG' });
    const { value } = await client.streamSample({ x: [1] }).next();
    expect(value!['y']!.toNested()).toEqual([7]);
  });
});

it('a stream of requests has the tensors of the model that took the place of the one before', async () => {
  await using server = await startServer((triton) => void triton.bind(answering(1)));
  await using client = new ModelClient(server.grpc, 'Changing');
  const ask = async (inputs: Readonly<Record<string, readonly unknown[]>>) => {
    await using requests = client.stream();
    await requests.send(inputs as never);
    return (await requests.next()).value;
  };
  expect(await ask({ x: [1] })).toMatchObject({ error: undefined });
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 60_000);
  onTestFinished(() => clock.mockRestore());
  const inputs = { words: { dtype: 'string', shape: [-1] } } as const;
  const outputs = { y: { dtype: 'int32', shape: [1] } } as const;
  const counts = batch<typeof inputs, typeof outputs>(({ words }) => ({ y: [[words.shape[1]!]] }));
  await server.triton.rebind({ modelName: 'Changing', inputs, outputs, inferFunc: counts });
  // Inputs of the model before pass the client, and the server refuses them.
  expect(await ask({ x: [1] })).toMatchObject({ error: { code: 'INVALID_ARG' } });
  expect(await ask({ words: ['a', 'b'] })).toMatchObject({ error: undefined });
});
