// What a version of a model runs on, from one load to its end: it is opened once, closed once, and only after its last
// request, however loads, unloads, restarts of threads and other versions come together.
import { describe, expect, it } from 'vitest';

import { defineModel, instanceGroup, Triton } from 'tstriton';

import { MetricsText } from '../support/metrics-text.js';
import { FREE_PORTS, gate, inferJson, startServer } from '../support/start-server.js';
import { countThreads } from '../support/watched-threads.js';

const MODULE = new URL('../fixtures/instance.js', import.meta.url);
const EXIT = 1;
const HOLD = 10;

const threads = defineModel({
  modelName: 'Threads',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
});
const model = defineModel({
  modelName: 'Held',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 4 },
});

function ask(http: string, name: string, value: number) {
  return inferJson(http, name, [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [value] }]);
}

async function control(http: string, name: string, action: 'load' | 'unload', config?: object): Promise<number> {
  const body = config === undefined ? '{}' : JSON.stringify({ parameters: { config: JSON.stringify(config) } });
  const { status } = await fetch(`${http}/v2/repository/models/${name}/${action}`, { method: 'POST', body });
  return status;
}

async function instances(metrics: string): Promise<number | undefined> {
  return (await MetricsText.of(metrics)).value('tstriton_instances');
}

/** Counts setups in its first word, and waits in all but the first until its second word is set. */
function counters(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(12));
}

/** A model of this thread that notes what happens to it; each request is held until it is let go. */
function heldModel(events: string[], number = 1) {
  const held: (() => void)[] = [];
  const bound = {
    ...model,
    setup: () => void events.push(`setup ${number}`),
    teardown: () => void events.push(`teardown ${number}`),
    inferFunc: async (requests: readonly unknown[]) => {
      events.push(`request ${number}`);
      const { open, opened } = gate();
      held.push(open);
      await opened;
      events.push(`answer ${number}`);
      return requests.map(() => ({ y: [[number]] }));
    },
  };
  return { bound, held };
}

describe.each([{ serverThread: true }, { serverThread: false }])('an opening with %o', ({ serverThread }) => {
  it('is closed when loads and unloads come at once, so that one remains', async () => {
    using threadsOf = countThreads();
    await using server = await startServer(
      (triton) => triton.bind({ ...threads, inferFunc: instanceGroup(MODULE, { count: 1 }) }),
      { serverThread, modelControlMode: 'explicit', restrictedEndpoints: [], loadModel: '*' },
    );
    const before = threadsOf.living;
    for (let pair = 0; pair < 6; pair++) {
      const statuses = [control(server.http, 'Threads', 'load'), control(server.http, 'Threads', 'unload')];
      expect(await Promise.all(statuses)).toEqual([200, 200]);
    }
    expect(await control(server.http, 'Threads', 'load')).toBe(200);
    const loads = Array.from({ length: 6 }, (_, pair) => [
      control(server.http, 'Threads', 'unload'),
      control(server.http, 'Threads', 'load', pair % 2 === 0 ? undefined : {}),
    ]);
    expect(new Set(await Promise.all(loads.flat()))).toEqual(new Set([200]));
    expect(await control(server.http, 'Threads', 'load')).toBe(200);
    await expect.poll(() => threadsOf.living).toBe(before);
    expect(await instances(server.metrics)).toBe(1);
  });

  it('is the only one while its thread restarts and another version is bound', async () => {
    const memory = counters();
    const group = () => instanceGroup(MODULE, { args: [memory] });
    await using server = await startServer((triton) => triton.bind({ ...threads, inferFunc: group() }), {
      serverThread,
    });
    const { triton, http } = server;
    const ended = await Promise.all([ask(http, 'Threads', EXIT), ask(http, 'Threads', 0)]);
    expect(ended.map(({ status }) => status)).toContain(503);
    await expect.poll(() => Atomics.load(memory, 0)).toBe(2);
    triton.bind({ ...threads, modelVersion: 2, inferFunc: instanceGroup(MODULE) });
    await triton.ready('Threads');
    Atomics.store(memory, 1, 1);
    await expect.poll(() => triton.isReady).toBe(true);
    expect(Atomics.load(memory, 0)).toBe(2);
    const { samples } = await MetricsText.of(server.metrics);
    const counts = samples.filter(({ name }) => name === 'tstriton_instances').map(({ value }) => value);
    expect(counts).toEqual([1, 1]);
  });

  it('has its waiting request end though another load takes its place while its thread restarts', async () => {
    const memory = counters();
    await using server = await startServer(
      (triton) => triton.bind({ ...threads, inferFunc: instanceGroup(MODULE, { args: [memory] }) }),
      { serverThread, modelControlMode: 'explicit', restrictedEndpoints: [], loadModel: '*' },
    );
    const { http, triton } = server;
    const held = ask(http, 'Threads', HOLD);
    await expect.poll(() => Atomics.load(memory, 2)).toBe(1);
    const waits = ask(http, 'Threads', 0);
    const exits = ask(http, 'Threads', EXIT);
    await expect
      .poll(async () => (await MetricsText.of(server.metrics)).value('nv_inference_pending_request_count'))
      .toBe(2);
    Atomics.store(memory, 1, 1);
    await held;
    await exits;
    const loads = [control(http, 'Threads', 'load'), control(http, 'Threads', 'load', {})];
    await Promise.all(loads);
    expect([200, 503]).toContain((await waits).status);
    await expect.poll(() => triton.isReady).toBe(true);
    expect(await instances(server.metrics)).toBe(1);
  });

  it.each(['unbind', 'rebind'] as const)('that drains after a load with a config is waited for by %s', async (how) => {
    const events: string[] = [];
    const { bound, held } = heldModel(events);
    await using server = await startServer((triton) => triton.bind(bound), {
      serverThread,
      modelControlMode: 'explicit',
      restrictedEndpoints: [],
      loadModel: '*',
    });
    const { http, triton } = server;
    const request = ask(http, 'Held', 1);
    await expect.poll(() => held.length).toBe(1);
    expect(await control(http, 'Held', 'load', { max_batch_size: 2 })).toBe(200);
    const changed = (how === 'unbind' ? triton.unbind('Held') : triton.rebind(heldModel(events, 2).bound)).then(
      () => void events.push(how),
    );
    // What does not wait is done long before.
    // It has begun by then.
    const hasBegun = async () =>
      how === 'rebind' ? events.includes('setup 2') : (await ask(http, 'Held', 1)).status === 404;
    await expect.poll(hasBegun).toBe(true);
    for (let i = 0; i < 20; i++) await fetch(`${http}/v2/health/live`);
    held[0]!();
    expect((await request).outputs[0]!.data).toEqual([1]);
    await changed;
    const own = events.filter((event) => !event.endsWith('2'));
    expect(own).toEqual(['setup 1', 'request 1', 'answer 1', 'teardown 1', how]);
  });

  it.each(['unbind', 'rebind'] as const)(
    'that an unload lets drain is waited for by %s alone, and by no other load or unload',
    async (how) => {
      const events: string[] = [];
      const { bound, held } = heldModel(events);
      await using server = await startServer((triton) => triton.bind(bound), {
        serverThread,
        modelControlMode: 'explicit',
        restrictedEndpoints: [],
        loadModel: '*',
      });
      const { http, triton } = server;
      const state = async () => {
        const response = await fetch(`${http}/v2/repository/index`, { method: 'POST' });
        const [line] = (await response.json()) as { state: string }[];
        return line?.state;
      };
      const request = ask(http, 'Held', 1);
      await expect.poll(() => held.length).toBe(1);
      for (const config of [undefined, { max_batch_size: 2 }]) {
        expect(await control(http, 'Held', 'unload')).toBe(200);
        expect(await control(http, 'Held', 'load', config)).toBe(200);
        expect(await state()).toBe('READY');
      }
      expect(await control(http, 'Held', 'unload')).toBe(200);
      // What is left of the last load has nothing to answer, and ends.
      await expect.poll(state).toBe('UNAVAILABLE');
      const changed = (how === 'unbind' ? triton.unbind('Held') : triton.rebind(heldModel(events, 2).bound)).then(
        () => void events.push(how),
      );
      await expect.poll(state).toBe(how === 'unbind' ? undefined : 'UNAVAILABLE');
      for (let i = 0; i < 20; i++) await fetch(`${http}/v2/health/live`);
      held[0]!();
      expect((await request).outputs[0]!.data).toEqual([1]);
      await changed;
      expect(events).toEqual(['setup 1', 'request 1', 'answer 1', 'teardown 1', how]);
    },
  );

  it('that an unload lets drain is closed when the model was replaced meanwhile, and not before', async () => {
    const events: string[] = [];
    const { bound, held } = heldModel(events);
    await using server = await startServer((triton) => triton.bind(bound), {
      serverThread,
      modelControlMode: 'explicit',
      restrictedEndpoints: [],
      loadModel: '*',
    });
    const { http, triton } = server;
    const request = ask(http, 'Held', 1);
    await expect.poll(() => held.length).toBe(1);
    expect(await control(http, 'Held', 'unload')).toBe(200);
    const replacement = heldModel(events, 2);
    const replaced = triton.rebind(replacement.bound).then(() => void events.push('rebind'));
    // What does not wait is done long before.
    for (let i = 0; i < 20; i++) await fetch(`${http}/v2/health/live`);
    held[0]!();
    expect((await request).outputs[0]!.data).toEqual([1]);
    await replaced;
    expect(events).toEqual(['setup 1', 'request 1', 'answer 1', 'teardown 1', 'rebind']);
    expect(await control(http, 'Held', 'load')).toBe(200);
    const later = ask(http, 'Held', 2);
    await expect.poll(() => replacement.held.length).toBe(1);
    replacement.held[0]!();
    expect((await later).outputs[0]!.data).toEqual([2]);
  });

  it.each(['unbind', 'stop'] as const)(
    'lets a callable whose client has gone come to its end before its teardown, at %s',
    async (how) => {
      const events: string[] = [];
      const { bound, held } = heldModel(events);
      const server = await startServer((triton) => triton.bind(bound), { serverThread });
      const leaving = new AbortController();
      const inputs = [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [1] }];
      const request = inferJson(server.http, 'Held', inputs, {}, leaving.signal).catch((error: Error) => error.name);
      await expect.poll(() => held.length).toBe(1);
      leaving.abort();
      expect(await request).toBe('AbortError');
      const statistics = async () => (await (await fetch(`${server.http}/v2/models/Held/stats`)).json()) as object;
      await expect.poll(statistics).toMatchObject({ model_stats: [{ inference_stats: { fail: { count: 1 } } }] });
      const ended = how === 'unbind' ? server.triton.unbind('Held') : server.triton.stop();
      await new Promise((resolve) => setImmediate(resolve));
      await fetch(`${server.http}/v2/health/live`).catch(() => undefined);
      held[0]!();
      await ended;
      await server.triton.stop();
      expect(events).toEqual(['setup 1', 'request 1', 'answer 1', 'teardown 1']);
    },
  );

  it('that drains in a thread after a load with a config answers before its thread is ended', async () => {
    const memory = counters();
    Atomics.store(memory, 1, 0);
    await using server = await startServer(
      (triton) => triton.bind({ ...threads, inferFunc: instanceGroup(MODULE, { args: [memory] }) }),
      { serverThread, modelControlMode: 'explicit', restrictedEndpoints: [], loadModel: '*' },
    );
    const { http, triton } = server;
    const request = ask(http, 'Threads', HOLD);
    await expect.poll(() => Atomics.load(memory, 2)).toBe(1);
    const loaded = control(http, 'Threads', 'load', { max_batch_size: 2 });
    await expect.poll(() => Atomics.load(memory, 0)).toBe(2);
    const unbound = triton.unbind('Threads');
    for (let i = 0; i < 20; i++) await fetch(`${http}/v2/health/live`);
    Atomics.store(memory, 1, 1);
    expect(await request).toMatchObject({ status: 200 });
    expect(await loaded).toBe(200);
    await unbound;
  });

  it('that failed is not tried again because another version is bound', async () => {
    const events: string[] = [];
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    await triton.run();
    let tries = 0;
    const answers = { ...model, inferFunc: (requests: readonly unknown[]) => requests.map(() => ({ y: [[1]] })) };
    triton.bind({
      ...answers,
      setup: () => {
        events.push('setup 1');
        if (tries++ === 0) throw new Error('no weights');
      },
      teardown: () => void events.push('teardown 1'),
    });
    triton.bind({ ...answers, modelVersion: 2 });
    await expect(triton.ready('Held')).rejects.toThrow('no weights');
    const http = `http://127.0.0.1:${triton.httpPort}`;
    await expect.poll(async () => (await fetch(`${http}/v2/models/Held/versions/2/ready`)).status).toBe(200);
    expect((await fetch(`${http}/v2/models/Held/versions/1/ready`)).status).toBe(400);
    expect([triton.isReady, (await fetch(`${http}/v2/health/ready`)).status]).toEqual([false, 400]);
    await triton.stop();
    expect(events).toEqual(['setup 1']);
  });

  it('that a client has loaded after it failed makes the server ready, and is closed once', async () => {
    const events: string[] = [];
    let tries = 0;
    const bound = {
      ...model,
      setup: () => {
        events.push('setup');
        if (tries++ === 0) throw new Error('no weights');
      },
      teardown: () => void events.push('teardown'),
      inferFunc: (requests: readonly unknown[]) => requests.map(() => ({ y: [[1]] })),
    };
    const server = await startServer((triton) => triton.bind(bound), {
      serverThread,
      modelControlMode: 'explicit',
      restrictedEndpoints: [],
      loadModel: '*',
      exitOnError: false,
    });
    expect(server.triton.isReady).toBe(false);
    expect(await control(server.http, 'Held', 'load')).toBe(200);
    expect((await ask(server.http, 'Held', 1)).status).toBe(200);
    await expect.poll(() => server.triton.isReady).toBe(true);
    await server.triton.stop();
    expect(events).toEqual(['setup', 'setup', 'teardown']);
  });
});
