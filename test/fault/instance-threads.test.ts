// Instances in threads of their own: each way in which one can die, and what becomes of requests, model and server.
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

import { describe, expect, it } from 'vitest';

import { defineModel, instanceGroup, type Triton } from 'tstriton';

import { modelRepository } from '../support/model-repository.js';
import { gate, inferJson, pendingRequests, startServer } from '../support/start-server.js';

const MODULE = new URL('../fixtures/instance.js', import.meta.url);

const model = defineModel({
  modelName: 'Threads',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
});

/** What the module does for a value of x; see test/fixtures/instance.js. */
const WHAT = {
  answer: 0,
  exit: 1,
  throw: 2,
  throwOutside: 3,
  useUpMemory: 4,
  wait: 5,
  meet: 6,
  callBack: 9,
  hold: 10,
} as const;

const GIVEN_UP = [503, "model 'Threads' is not ready: all instances ended while the request waited"];
/**
 * What becomes of requests that wait while the last instance is started again: the next one answers them, unless that takes
 * this machine more than a second. `src/server/served-model.test.ts` has both in simulated time.
 */
const ENDS_OF_WAITING = [[200, undefined], GIVEN_UP];

async function ask(http: string, what: keyof typeof WHAT, name: string = model.modelName) {
  const answer = await inferJson(http, name, [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [WHAT[what]] }]);
  const [y, thread] = answer.outputs ?? [];
  return { ...answer, said: y === undefined ? undefined : JSON.parse(String(y.data[0])), thread: thread?.data[0] };
}

/** Of the model, and of the server. */
async function readiness(http: string): Promise<number[]> {
  const paths = ['models/Threads/ready', 'health/ready'];
  return Promise.all(paths.map(async (path) => (await fetch(`${http}/v2/${path}`)).status));
}

async function statistics(http: string) {
  const { model_stats: stats } = (await (await fetch(`${http}/v2/models/Threads/stats`)).json()) as {
    model_stats: { inference_count: number }[];
  };
  return stats[0]!;
}

/** What is ended as soon as it is asked to has ended by then. */
async function asLongAsThreadsTake(): Promise<void> {
  for (let i = 0; i < 3; i++) await once(new Worker('', { eval: true }), 'exit');
}

function bindThreads(triton: Triton, options: Parameters<typeof instanceGroup>[1] = {}): void {
  triton.bind({ ...model, inferFunc: instanceGroup(MODULE, options) });
}

describe.each([{ serverThread: true }, { serverThread: false }])('an instance group with %o', ({ serverThread }) => {
  it('runs a module in threads, each with its own entry of args and environment', async () => {
    await using server = await startServer((triton) => bindThreads(triton, { args: ['a', 'b'], env: { OWN: 'yes' } }), {
      serverThread,
    });
    const [first, second] = [await ask(server.http, 'answer'), await ask(server.http, 'answer')];
    const said = { isMainThread: false, model: 'Threads', env: 'yes' };
    expect([first.said, second.said]).toEqual([
      expect.objectContaining({ ...said, instance: 0, args: 'a' }),
      expect.objectContaining({ ...said, instance: 1, args: 'b' }),
    ]);
    expect(first.thread).not.toBe(second.thread);
  });

  it('gives its threads the options and limits of the group', async () => {
    const options = { execArgv: ['--no-warnings'], resourceLimits: { maxOldGenerationSizeMb: 48 } };
    await using server = await startServer((triton) => bindThreads(triton, options), { serverThread });
    const { said } = await ask(server.http, 'answer');
    expect(said).toMatchObject({ execArgv: ['--no-warnings'], oldGenerationMb: 48 });
  });

  it('answers what its replacement has under way when the server stops before its predecessor has ended', async () => {
    const [old, next] = [new Int32Array(new SharedArrayBuffer(12)), new Int32Array(new SharedArrayBuffer(12))];
    await using server = await startServer((triton) => bindThreads(triton, { args: [old] }), { serverThread });
    const { triton, http } = server;
    await ask(http, 'answer');
    const first = ask(http, 'hold');
    await expect.poll(() => Atomics.load(old, 2)).toBe(1);
    const replaced = Promise.allSettled([
      triton.rebind({ ...model, inferFunc: instanceGroup(MODULE, { args: [next] }) }),
    ]);
    // The one that takes its place begins to count anew.
    await expect.poll(async () => (await statistics(http)).inference_count).toBe(0);
    const second = ask(http, 'hold');
    await expect.poll(() => Atomics.load(next, 2)).toBe(1);
    const stopped = triton.stop();
    Atomics.store(old, 1, 1);
    expect((await first).status).toBe(200);
    await asLongAsThreadsTake();
    Atomics.store(next, 1, 1);
    expect((await second).status).toBe(200);
    // It serves since before the stop, and its predecessor has ended.
    expect(await replaced).toMatchObject([{ status: 'fulfilled' }]);
    await stopped;
  });

  it('answers what is under way when the server stops before it is unbound and replaced', async () => {
    const [held, next] = [new Int32Array(new SharedArrayBuffer(12)), new Int32Array(new SharedArrayBuffer(12))];
    await using server = await startServer((triton) => bindThreads(triton, { args: [held] }), { serverThread });
    const { triton, http } = server;
    const first = ask(http, 'hold');
    await expect.poll(() => Atomics.load(held, 2)).toBe(1);
    const group = instanceGroup(MODULE, { args: ['fail'] });
    // Each has its turn when the one before it has ended, and the second one when the server takes no more changes.
    const turns = Promise.allSettled([
      triton.rebind({ ...model, inferFunc: group }),
      triton.rebind({ ...model, inferFunc: instanceGroup(MODULE, { args: [next] }) }),
      triton.unbind('Threads'),
    ]);
    const stopped = triton.stop();
    await asLongAsThreadsTake();
    Atomics.store(held, 1, 1);
    expect((await first).status).toBe(200);
    await Promise.all([turns, stopped]);
  });

  it('mixes with callables of this thread', async () => {
    await using server = await startServer(
      (triton) =>
        triton.bind({
          ...model,
          inferFunc: [
            (requests) => requests.map(() => ({ y: [['"here"']], thread: [[0]] })),
            instanceGroup(MODULE, { args: ['its own'] }),
          ],
        }),
      { serverThread },
    );
    const said = [await ask(server.http, 'answer'), await ask(server.http, 'answer')].map(
      (answer) => answer.said as unknown,
    );
    expect(said).toEqual(['here', expect.objectContaining({ instance: 1, args: 'its own' })]);
  });

  it.each(['exit', 'throwOutside', 'useUpMemory'] as const)(
    'that dies (%s) fails its requests with UNAVAILABLE and serves again',
    async (way) => {
      await using server = await startServer(
        (triton) => bindThreads(triton, { resourceLimits: { maxOldGenerationSizeMb: 32 } }),
        { serverThread },
      );
      const failed = await ask(server.http, way);
      expect(failed).toMatchObject({
        status: 503,
        error: "an instance of model 'Threads' ended while it was working on the request",
      });
      await expect.poll(async () => (await ask(server.http, 'answer')).status).toBe(200);
    },
  );

  it('that dies of an error outside of its calls has the place of it in the log', async () => {
    const errors: string[] = [];
    const ignore = () => undefined;
    const logger = { debug: ignore, info: ignore, warn: ignore, error: (message: string) => errors.push(message) };
    await using server = await startServer((triton) => bindThreads(triton), { serverThread, logger });
    expect((await ask(server.http, 'throwOutside')).status).toBe(503);
    const line =
      /^instance 0 of model 'Threads' ended: uncaught in a thread; starting it again\n {4}at .*instance\.js:\d+/;
    await expect.poll(() => errors).toEqual([expect.stringMatching(line)]);
  });

  it('that throws fails only its request', async () => {
    await using server = await startServer((triton) => bindThreads(triton), { serverThread });
    expect(await ask(server.http, 'throw')).toMatchObject({ status: 500, error: 'thrown in a thread' });
    expect((await ask(server.http, 'answer')).status).toBe(200);
  });

  it('keeps the model ready while another instance lives', async () => {
    const held = new Int32Array(new SharedArrayBuffer(8));
    await using server = await startServer((triton) => bindThreads(triton, { args: [held, 'other'] }), {
      serverThread,
    });
    let died: number;
    do ({ status: died } = await ask(server.http, 'exit'));
    while (Atomics.load(held, 0) === 1 && died !== 503);
    expect(await readiness(server.http)).toEqual([200, 200]);
    expect((await ask(server.http, 'answer')).status).toBe(200);
    Atomics.store(held, 1, 1);
  });

  it('tells the truth while the last instance is gone, and other models go on', async () => {
    const held = new Int32Array(new SharedArrayBuffer(8));
    await using server = await startServer(
      (triton) => {
        bindThreads(triton, { args: [held] });
        triton.bind({ ...model, modelName: 'Other', inferFunc: instanceGroup(MODULE) });
      },
      { serverThread },
    );
    const instances = async () =>
      (await (await fetch(server.metrics)).text()).match(/^tstriton_instances.*Threads.*$/m)?.[0];
    expect(await instances()).toBe('tstriton_instances{model="Threads",version="1"} 1');
    expect((await ask(server.http, 'exit')).status).toBe(503);
    expect(await readiness(server.http)).toEqual([400, 400]);
    expect(await instances()).toBe('tstriton_instances{model="Threads",version="1"} 0');
    await expect.poll(() => server.triton.isReady).toBe(false);
    expect(await ask(server.http, 'answer')).toMatchObject({
      status: 503,
      error: "model 'Threads' is not ready: all instances have ended",
    });
    expect((await ask(server.http, 'answer', 'Other')).status).toBe(200);
    Atomics.store(held, 1, 1);
    await expect.poll(() => readiness(server.http)).toEqual([200, 200]);
    expect(server.triton.isReady).toBe(true);
    expect(await instances()).toBe('tstriton_instances{model="Threads",version="1"} 1');
  });

  it.each([true, false])('that loses its last instance answers what waits for the next one: %s', async (restarts) => {
    const held = new Int32Array(new SharedArrayBuffer(12));
    await using server = await startServer(
      (triton) =>
        triton.bind({ ...model, config: { batcher: null }, inferFunc: instanceGroup(MODULE, { args: [held] }) }),
      { serverThread },
    );
    const hangUp = new AbortController();
    const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [WHAT.wait] }] });
    const runs = fetch(`${server.http}/v2/models/Threads/infer`, { method: 'POST', body, signal: hangUp.signal });
    const waiting = async () => pendingRequests(await (await fetch(server.metrics)).text());
    await expect.poll(() => Atomics.load(held, 2)).toBe(1);
    const kills = ask(server.http, 'exit');
    await expect.poll(waiting).toBe(1);
    const waits = [ask(server.http, 'answer'), ask(server.http, 'answer')];
    await expect.poll(waiting).toBe(3);
    if (restarts) Atomics.store(held, 1, 1);
    hangUp.abort();
    await expect(runs).rejects.toThrow('aborted');
    expect((await kills).status).toBe(503);
    const ends = restarts ? ENDS_OF_WAITING : [GIVEN_UP];
    for (const { status, error } of await Promise.all(waits)) expect(ends).toContainEqual([status, error]);
    Atomics.store(held, 1, 1);
    await expect.poll(async () => (await ask(server.http, 'answer')).status).toBe(200);
  });

  it('that dies while its model is unloaded is started again for what waits', async () => {
    const held = new Int32Array(new SharedArrayBuffer(12));
    await using server = await startServer(
      (triton) =>
        void triton.bind({ ...model, config: { maxBatchSize: 1 }, inferFunc: instanceGroup(MODULE, { args: [held] }) }),
      { serverThread, modelControlMode: 'explicit', loadModel: '*', restrictedEndpoints: [] },
    );
    const pending = async () => pendingRequests(await (await fetch(server.metrics)).text());
    const runs = ask(server.http, 'hold');
    await expect.poll(() => Atomics.load(held, 2)).toBe(1);
    const died = ask(server.http, 'exit');
    await expect.poll(pending).toBe(1);
    const waits = ask(server.http, 'answer');
    await expect.poll(pending).toBe(2);
    await fetch(`${server.http}/v2/repository/models/Threads/unload`, { method: 'POST' });
    expect((await ask(server.http, 'answer')).status).toBe(404);
    Atomics.store(held, 1, 1);
    expect([(await runs).status, (await died).status]).toEqual([200, 503]);
    const { status, error } = await waits;
    expect(ENDS_OF_WAITING).toContainEqual([status, error]);
    // Its second start, and no third. A start that nobody waits for any more may be called off before it counts.
    expect(status === 200 ? [2] : [1, 2]).toContain(Atomics.load(held, 0));
  });

  it('that dies after its model was replaced is started again for what waits there, and not for the new model', async () => {
    const held = new Int32Array(new SharedArrayBuffer(12));
    await using server = await startServer(
      (triton) =>
        triton.bind({ ...model, config: { maxBatchSize: 1 }, inferFunc: instanceGroup(MODULE, { args: [held] }) }),
      { serverThread },
    );
    const metrics = async () => (await fetch(server.metrics)).text();
    const pending = async () => pendingRequests(await metrics());
    const runs = ask(server.http, 'hold');
    await expect.poll(() => Atomics.load(held, 2)).toBe(1);
    const died = ask(server.http, 'exit');
    await expect.poll(pending).toBe(1);
    const waits = ask(server.http, 'answer');
    await expect.poll(pending).toBe(2);
    const replaced = server.triton.rebind({ ...model, inferFunc: instanceGroup(MODULE, { args: ['new'] }) });
    // Nothing waits for the new one.
    await expect.poll(pending).toBe(0);
    Atomics.store(held, 1, 1);
    await replaced;
    expect([(await runs).status, (await died).status]).toEqual([200, 503]);
    const { status, error } = await waits;
    expect(ENDS_OF_WAITING).toContainEqual([status, error]);
    for (let i = 0; i < 4; i++) expect((await ask(server.http, 'answer')).said).toMatchObject({ args: 'new' });
    expect(await metrics()).toContain('tstriton_instances{model="Threads",version="1"} 1\n');
  });

  it('that starts again with a module that has changed says so', async () => {
    const module = (number: number) =>
      `export default (requests) => requests.map(({ inputs: { x } }) => {
  if (x.data[0] === 1) process.exit(1);
  return { y: ['${number}'], thread: [0] };
});`;
    const folder = modelRepository({ 'model.mjs': module(1) });
    const warnings: string[] = [];
    const quiet = () => undefined;
    const logger = { debug: quiet, info: quiet, error: quiet, warn: (text: string) => void warnings.push(text) };
    const url = pathToFileURL(join(folder.path, 'model.mjs'));
    const config = { serverThread, logger };
    await using server = await startServer(
      (triton) => triton.bind({ ...model, inferFunc: instanceGroup(url) }),
      config,
    );
    const { http } = server;
    const restarted = async () => {
      await ask(http, 'exit');
      await expect.poll(async () => (await ask(http, 'answer')).status).toBe(200);
      return (await ask(http, 'answer')).said;
    };
    expect([await restarted(), warnings]).toEqual([1, []]);
    folder.write('model.mjs', module(2));
    expect(await restarted()).toBe(2);
    expect(await restarted()).toBe(2);
    expect(warnings).toEqual([
      `instance 0 of model 'Threads' version 1 starts again with a module that has changed since the model was loaded: ${url.href}`,
    ]);
  });

  it('that does not start again can be unloaded, and stays so', async () => {
    const held = new Int32Array(new SharedArrayBuffer(12));
    await using server = await startServer(
      (triton) => void triton.bind({ ...model, inferFunc: instanceGroup(MODULE, { args: [held] }) }),
      { serverThread, modelControlMode: 'explicit', loadModel: '*', restrictedEndpoints: [] },
    );
    expect((await ask(server.http, 'exit')).status).toBe(503);
    const index = async () => {
      const response = await fetch(`${server.http}/v2/repository/index`, { method: 'POST' });
      return (await response.json()) as unknown;
    };
    const is = (state: string, reason: string) => [{ name: 'Threads', version: '1', state, reason }];
    expect(await index()).toEqual(is('UNAVAILABLE', 'all instances have ended'));
    await fetch(`${server.http}/v2/repository/models/Threads/unload`, { method: 'POST' });
    Atomics.store(held, 1, 1);
    await expect.poll(index).toEqual(is('UNAVAILABLE', 'unloaded'));
    expect((await ask(server.http, 'answer')).status).toBe(404);
    await fetch(`${server.http}/v2/repository/models/Threads/load`, { method: 'POST' });
    expect((await ask(server.http, 'answer')).status).toBe(200);
  });

  it('may not call a model that calls it', async () => {
    await using server = await startServer(
      (triton) => {
        bindThreads(triton);
        triton.bind({
          ...model,
          modelName: 'Caller',
          inferFunc: async (requests, { models }) => {
            await models['Threads']!.infer({ x: requests[0]!.inputs.x });
            return requests.map(() => ({ y: [['0']], thread: [[0]] }));
          },
        });
      },
      { serverThread },
    );
    const answers = [await ask(server.http, 'callBack'), await ask(server.http, 'callBack', 'Caller')];
    expect(answers).toMatchObject([
      { status: 500, error: 'models call each other in a circle: Threads → Caller → Threads' },
      { status: 500, error: 'models call each other in a circle: Caller → Threads → Caller' },
    ]);
  });

  it('whose teardown throws is stopped all the same', async () => {
    await using server = await startServer((triton) => bindThreads(triton, { args: ['fail in teardown'] }), {
      serverThread,
    });
    await server.triton.unbind('Threads');
    expect((await ask(server.http, 'answer')).status).toBe(404);
  });

  it('tells a callable in a thread that its client is gone', async () => {
    const held = new Int32Array(new SharedArrayBuffer(12));
    await using server = await startServer((triton) => bindThreads(triton, { args: [held] }), { serverThread });
    const hangUp = new AbortController();
    const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [WHAT.wait] }] });
    const asked = fetch(`${server.http}/v2/models/Threads/infer`, { method: 'POST', body, signal: hangUp.signal });
    await expect.poll(() => Atomics.load(held, 2)).toBe(1);
    hangUp.abort();
    await expect(asked).rejects.toThrow('aborted');
    // The instance takes one batch at a time: it is free again only when the callable has seen the signal.
    expect((await ask(server.http, 'answer')).status).toBe(200);
  });

  it('computes in two threads at once', async () => {
    const args = { meeting: new Int32Array(new SharedArrayBuffer(4)) };
    const inferFunc = instanceGroup(MODULE, { args: [args, args] });
    await using server = await startServer(
      (triton) => void triton.bind({ ...model, config: { maxBatchSize: 1 }, inferFunc }),
      { serverThread },
    );
    const answers = await Promise.all([ask(server.http, 'meet'), ask(server.http, 'meet')]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(answers.map(({ thread }) => thread)).size).toBe(2);
  });

  it.each<[string, URL, Parameters<typeof instanceGroup>[1], string]>([
    [
      'a setup that fails',
      MODULE,
      { args: ['fail'] },
      "setup of instance 0 of model 'Broken' (instance.js) failed: no weights here",
    ],
    [
      'a setup that ends its thread',
      MODULE,
      { args: ['exit'] },
      "the thread of instance 0 of model 'Broken' ended with code 3",
    ],
    ['a module that is not there', new URL('../fixtures/none.js', import.meta.url), {}, 'cannot load the module'],
    [
      'a module without a callable',
      new URL('../support/start-server.ts', import.meta.url),
      {},
      'the default export of',
    ],
    [
      'a callable whose decorators do not fit the model',
      new URL('../fixtures/sampled-instance.js', import.meta.url),
      {},
      "inferFunc of model 'Broken' is decorated with sample, but batches have up to 4 rows; use batch, or set batching: false or maxBatchSize: 1",
    ],
  ])('is a failed load with its reason: %s', async (_what, url, options, reason) => {
    await using server = await startServer((triton) => bindThreads(triton), { serverThread });
    server.triton.bind({
      ...model,
      modelName: 'Broken',
      config: { maxBatchSize: 4 },
      inferFunc: instanceGroup(url, options),
    });
    await expect(server.triton.ready('Broken')).rejects.toThrow(reason);
    expect((await ask(server.http, 'answer')).status).toBe(200);
  });
});

describe('a bound model', () => {
  it('is replaced without dropping a request', async () => {
    const started = gate();
    const release = gate();
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...model,
          inferFunc: async (requests) => {
            started.open();
            await release.opened;
            return requests.map(() => ({ y: [['"old"']], thread: [[0]] }));
          },
        }),
    );
    const old = ask(server.http, 'answer');
    await started.opened;
    const replaced = server.triton.rebind({
      ...model,
      inferFunc: (requests) => requests.map(() => ({ y: [['"new"']], thread: [[0]] })),
    });
    // Those that come before the change wait behind the old one.
    const others: Promise<unknown>[] = [];
    const isNew = gate();
    const timer = setInterval(() => {
      others.push(ask(server.http, 'answer').then(({ said }) => said === 'new' && isNew.open()));
    }, 10);
    await isNew.opened;
    clearInterval(timer);
    release.open();
    expect((await old).said).toBe('old');
    await Promise.all([replaced, ...others]);
  });

  it('has its own instances started again while it is replaced, and none of them afterwards', async () => {
    const begun = gate();
    const release = gate();
    await using server = await startServer((triton) => bindThreads(triton, { args: ['old'] }));
    const replaced = server.triton.rebind({
      ...model,
      setup: () => {
        begun.open();
        return release.opened;
      },
      inferFunc: (requests) => requests.map(() => ({ y: [['{"args":"new"}']], thread: [[0]] })),
    });
    await begun.opened;
    const args = async () => ((await ask(server.http, 'answer')).said as { args: string } | undefined)?.args;
    expect((await ask(server.http, 'exit')).status).toBe(503);
    await expect.poll(args).toBe('old');
    expect([await args(), await args()]).toEqual(['old', 'old']);
    release.open();
    await replaced;
    expect([await args(), await args()]).toEqual(['new', 'new']);
  });

  it('stays when its replacement does not load', async () => {
    await using server = await startServer((triton) => bindThreads(triton));
    await expect(
      server.triton.rebind({ ...model, inferFunc: instanceGroup(MODULE, { args: ['fail'] }) }),
    ).rejects.toThrow('no weights here');
    expect((await ask(server.http, 'answer')).status).toBe(200);
  });

  it('is gone after unbind, and its name is free again', async () => {
    await using server = await startServer((triton) => bindThreads(triton));
    await server.triton.unbind('Threads');
    expect((await ask(server.http, 'answer')).status).toBe(404);
    bindThreads(server.triton);
    await server.triton.ready('Threads');
    expect((await ask(server.http, 'answer')).status).toBe(200);
    await expect(server.triton.unbind('Nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is set up before it is served and torn down after', async () => {
    const events: string[] = [];
    {
      await using server = await startServer(
        (triton) =>
          void triton.bind({
            ...model,
            setup: ({ modelName }) => void events.push(`setup ${modelName}`),
            teardown: () => void events.push('teardown'),
            inferFunc: (requests) => (events.push('infer'), requests.map(() => ({ y: [['0']], thread: [[0]] }))),
          }),
      );
      await ask(server.http, 'answer');
    }
    expect(events).toEqual(['setup Threads', 'infer', 'teardown']);
  });
});
