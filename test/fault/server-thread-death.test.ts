// The server's own thread dies, as one does that runs out of memory. The process lives on, and so must the service: the
// thread is started again on the same ports, with the same models, and whoever holds the server learns of it.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Worker } from 'node:worker_threads';

import { afterEach, describe, expect, it, vi } from 'vitest';

import {
  batch,
  defineModel,
  instanceGroup,
  Triton,
  type CallableOf,
  type TritonConfig,
  type TritonError,
} from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { callJson } from '../support/grpc-service.js';
import { FREE_PORTS, gate, inferJson } from '../support/start-server.js';
import { addingModule, modelRepository } from '../support/model-repository.js';
import { temporaryFolder } from '../support/temporary-files.js';
import { watchThreads } from '../support/watched-threads.js';

const file = temporaryFolder();
const MODULE = new URL('../fixtures/instance.js', import.meta.url);

const echo = defineModel({
  modelName: 'Echo',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
});
const threads = defineModel({
  modelName: 'Threads',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
});
const DIED = { code: 'UNAVAILABLE', message: "the server's thread ended: it exited with code 1" };

/** A running server whose thread can be killed. */
async function startMortal(bind: (triton: Triton) => void, config: TritonConfig = {}) {
  const watched = watchThreads();
  const triton = new Triton({ ...FREE_PORTS, ...config });
  bind(triton);
  const told: TritonError[] = [];
  triton.onUnrecoverable = (error) => told.push(error);
  await triton.run();
  // Node tells of a new thread a turn later.
  await new Promise((resolve) => setImmediate(resolve));
  let thread: Worker = watched.started[0]!;
  return {
    triton,
    told,
    http: `http://127.0.0.1:${triton.httpPort}`,
    /** Resolves when whoever holds the server has been told, and the next thread is there, if one is to be. */
    async kill({ last = false } = {}): Promise<void> {
      const [deaths, before] = [told.length, watched.started.length];
      await thread.terminate();
      await expect.poll(() => told.length, { interval: 1 }).toBe(deaths + 1);
      if (last) return;
      await expect.poll(() => watched.started.length, { interval: 1 }).toBeGreaterThan(before);
      thread = watched.started[before]!;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      watched[Symbol.dispose]();
      await triton.stop();
    },
  };
}

function ask(http: string, value = 1, name = 'Echo') {
  return inferJson(http, name, [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [value] }]);
}

/** What the module's callable says for 0. */
async function askThread(http: string) {
  const answer = await inferJson(http, 'Threads', [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [0] }]);
  return { status: answer.status, thread: answer.outputs?.[1]?.data[0] };
}

async function isReady(http: string): Promise<boolean> {
  const response = await fetch(`${http}/v2/health/ready`).catch(() => undefined);
  return response?.status === 200;
}

async function listenOn(port: number): Promise<AsyncDisposable> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(port, '0.0.0.0', resolve));
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("the death of the server's thread", () => {
  it('is told, logged and soon over: the same models on the same ports, again and again', async () => {
    const logFile = file('log', '');
    await using server = await startMortal(
      (triton) => void triton.bind({ ...echo, inferFunc: (requests) => requests }),
      {
        logFile,
      },
    );
    const { triton, http, told } = server;
    const ports = () => [triton.httpPort, triton.grpcPort, triton.metricsPort];
    const before = ports();
    for (let death = 1; death <= 2; death++) {
      await server.kill();
      expect(told).toHaveLength(death);
      expect(told.at(-1)).toMatchObject(DIED);
      await expect.poll(() => isReady(http), { interval: 5 }).toBe(true);
      await expect.poll(() => triton.isReady).toBe(true);
      expect((await ask(http)).status).toBe(200);
      await using client = new ModelClient(`grpc://127.0.0.1:${triton.grpcPort}`, echo);
      expect((await client.inferSample({ x: [3] })).y!.data).toEqual(Float32Array.of(3));
      expect((await fetch(`http://127.0.0.1:${triton.metricsPort}/metrics`)).status).toBe(200);
      expect(ports()).toEqual(before);
    }
    expect(process.exitCode).toBeUndefined();
    const log = readFileSync(logFile, 'utf8');
    expect(log.match(/^E.*the server's thread ended: it exited with code 1; starting it again$/gm)).toHaveLength(2);
    expect(log.match(/^I.*the server's thread is there again$/gm)).toHaveLength(2);
  });

  it('is not ready, and says so, as long as it lasts', async () => {
    await using server = await startMortal(
      (triton) => void triton.bind({ ...echo, inferFunc: (requests) => requests }),
    );
    expect(server.triton.isReady).toBe(true);
    server.triton.onUnrecoverable = (error) => {
      expect.soft(server.triton.isReady).toBe(false);
      server.told.push(error);
    };
    await server.kill();
    await expect.poll(() => server.triton.isReady).toBe(true);
  });

  it('tears nothing down and sets nothing up: callables and threads of instances live on', async () => {
    const events: string[] = [];
    await using server = await startMortal((triton) => {
      triton.bind({
        ...echo,
        inferFunc: (requests) => requests,
        setup: () => void events.push('setup'),
        teardown: () => void events.push('teardown'),
      });
      triton.bind({ ...threads, inferFunc: instanceGroup(MODULE) });
    });
    const before = await askThread(server.http);
    expect(before.status).toBe(200);
    await server.kill();
    await expect.poll(() => isReady(server.http), { interval: 5 }).toBe(true);
    expect(await askThread(server.http)).toEqual(before);
    expect((await ask(server.http)).status).toBe(200);
    expect(events).toEqual(['setup']);
    await server.triton.stop();
    expect(events).toEqual(['setup', 'teardown']);
  });

  it('has the models of a model repository again, those that are broken too', async () => {
    const repository = modelRepository({
      'whole/1/model.mjs': addingModule(1),
      'unloaded/1/model.mjs': addingModule(2),
      'broken/config.pbtxt': 'max_batch_size: many',
    });
    const config: TritonConfig = {
      modelRepository: repository.path,
      modelControlMode: 'explicit',
      loadModel: ['whole', 'broken'],
      exitOnError: false,
      strictReadiness: false,
      restrictedEndpoints: [],
    };
    await using server = await startMortal(() => undefined, config);
    const index = () => callJson(`${server.http}/v2/repository/index`, {});
    const before = await index();
    expect(before).toMatchObject([
      200,
      [{ name: 'broken', state: 'UNAVAILABLE' }, { name: 'unloaded' }, { state: 'READY' }],
    ]);
    await server.kill();
    await expect.poll(() => index().catch(() => undefined), { interval: 5 }).toEqual(before);
    const load = await callJson(`${server.http}/v2/repository/models/unloaded/load`, {});
    expect(load).toEqual([200, '']);
  });

  it('aborts what runs; its result goes nowhere, and the next batch begins when it has ended', async () => {
    const events: string[] = [];
    const [began, release] = [gate(), gate()];
    await using server = await startMortal(
      (triton) =>
        void triton.bind({
          ...echo,
          inferFunc: async (requests, { signal }) => {
            const [value] = requests[0]!.inputs.x.data;
            events.push(`${value} begins`);
            if (value === 1) {
              signal.addEventListener('abort', () => events.push('1 is aborted'));
              began.open();
              await release.opened;
            }
            events.push(`${value} ends`);
            return requests;
          },
        }),
    );
    const cut = ask(server.http, 1);
    cut.catch(() => undefined);
    await began.opened;
    await server.kill();
    await expect(cut).rejects.toThrow('fetch failed');
    await expect.poll(() => isReady(server.http), { interval: 5 }).toBe(true);
    const next = ask(server.http, 2);
    const metrics = `http://127.0.0.1:${server.triton.metricsPort}/metrics`;
    // For the new server the batch runs.
    await expect
      .poll(async () => (await (await fetch(metrics)).text()).match(/^tstriton_batches_total.*"idle".* (\d+)$/m)?.[1])
      .toBe('1');
    expect(events).toEqual(['1 begins', '1 is aborted']);
    release.open();
    expect(await next).toMatchObject({ status: 200, outputs: [{ data: [2] }] });
    expect(events).toEqual(['1 begins', '1 is aborted', '1 ends', '2 begins', '2 ends']);
  });

  it('fails the calls of other models that callables have under way', async () => {
    const [began, release, failed] = [gate(), gate(), gate<unknown>()];
    await using server = await startMortal((triton) => {
      triton.bind({
        ...echo,
        inferFunc: async (requests) => {
          began.open();
          await release.opened;
          return requests;
        },
      });
      triton.bind({
        ...echo,
        modelName: 'Caller',
        inferFunc: batch(async ({ x }, { models }) => {
          try {
            await models['Echo']!.infer({ x });
          } catch (error) {
            failed.open(error);
            // The server that asked is dead: nobody is there to make another call.
            await models['Echo']!.infer({ x });
          }
          return { y: x };
        }),
      });
    });
    const cut = ask(server.http, 1, 'Caller');
    cut.catch(() => undefined);
    await began.opened;
    await server.kill();
    expect(await failed.opened).toMatchObject({ code: 'UNAVAILABLE', message: 'the server has ended' });
    await expect(cut).rejects.toThrow('fetch failed');
    release.open();
    await expect.poll(() => isReady(server.http), { interval: 5 }).toBe(true);
    expect((await ask(server.http, 1, 'Caller')).status).toBe(200);
  });

  it('leaves models loaded or not as clients wanted them', async () => {
    await using server = await startMortal(
      (triton) => {
        for (const modelName of ['atStart', 'later', 'never'])
          triton.bind({ ...echo, modelName, inferFunc: (requests) => requests });
      },
      { modelControlMode: 'explicit', loadModel: ['atStart'], restrictedEndpoints: [] },
    );
    const control = async (what: string, name: string, config?: object) => {
      const body = config && JSON.stringify({ parameters: { config: JSON.stringify(config) } });
      const url = `${server.http}/v2/repository/models/${name}/${what}`;
      return (await fetch(url, { method: 'POST', ...(body && { body }) })).status;
    };
    expect(await control('load', 'later', { max_batch_size: 3 })).toBe(200);
    expect(await control('unload', 'atStart')).toBe(200);
    await expect.poll(async () => (await ask(server.http, 1, 'atStart')).status).toBe(404);
    await server.kill();
    await expect.poll(() => isReady(server.http), { interval: 5 }).toBe(true);
    const statuses = async () =>
      Promise.all(['atStart', 'later', 'never'].map(async (name) => (await ask(server.http, 1, name)).status));
    expect(await statuses()).toEqual([404, 200, 404]);
    const config = await (await fetch(`${server.http}/v2/models/later/config`)).json();
    expect(config).toMatchObject({ max_batch_size: 3 });
    expect(config).not.toHaveProperty('dynamic_batching');
    expect([await control('load', 'atStart'), await control('load', 'never')]).toEqual([200, 200]);
    expect(await statuses()).toEqual([200, 200, 200]);
  });

  it('finishes bind, rebind and unbind on the server that comes after it', async () => {
    const [slow, setUp] = [gate(), gate()];
    const by = (factor: number) => ({
      ...echo,
      inferFunc: batch(({ x }) => ({ y: x.map((value) => factor * value) })) satisfies CallableOf<typeof echo>,
    });
    await using server = await startMortal((triton) => {
      triton.bind(by(2));
      triton.bind({ ...by(1), modelName: 'Gone' });
    });
    const { triton, http } = server;
    const rebound = triton.rebind({
      ...by(3),
      setup: async () => {
        setUp.open();
        await slow.opened;
      },
    });
    await setUp.opened;
    await server.kill();
    const unbound = triton.unbind('Gone');
    triton.bind({ ...by(10), modelName: 'New' });
    await triton.ready('New');
    await unbound;
    // The old one serves until the new one is set up.
    expect((await ask(http, 1)).outputs[0]!.data).toEqual([2]);
    slow.open();
    await rebound;
    expect((await ask(http, 1)).outputs[0]!.data).toEqual([3]);
    expect((await ask(http, 1, 'New')).outputs[0]!.data).toEqual([10]);
    expect((await ask(http, 1, 'Gone')).status).toBe(404);
  });

  it('tries again what did not load, but nothing that was to replace what serves', async () => {
    const events: string[] = [];
    let fails = true;
    const warmup = { name: 'w', inputs: { x: { dtype: 'float32', shape: [1], zeroData: true } } } as const;
    await using server = await startMortal(
      (triton) => {
        triton.bind({
          ...echo,
          config: { modelWarmup: [warmup] },
          inferFunc: (requests) => (events.push('runs'), requests),
        });
        triton.bind({
          ...echo,
          modelName: 'Failing',
          setup: () => {
            if (fails) throw new Error('not yet');
          },
          inferFunc: (requests) => requests,
        });
      },
      { exitOnError: false },
    );
    const failing = () => {
      events.push('tried');
      throw new Error('never');
    };
    const refused = server.triton.rebind({ ...echo, setup: failing, inferFunc: (requests) => requests });
    await expect(refused).rejects.toThrow('never');
    fails = false;
    await server.kill();
    await expect.poll(() => isReady(server.http), { interval: 5 }).toBe(true);
    expect((await ask(server.http, 1, 'Failing')).status).toBe(200);
    expect((await ask(server.http)).status).toBe(200);
    // Once to warm up, and once for the client.
    expect(events).toEqual(['runs', 'tried', 'runs']);
  });

  it('gives threads that were started again meanwhile to the server that comes after it', async () => {
    const held = new Int32Array(new SharedArrayBuffer(12));
    await using server = await startMortal(
      (triton) => void triton.bind({ ...threads, inferFunc: instanceGroup(MODULE, { args: [held] }) }),
    );
    const exit = inferJson(server.http, 'Threads', [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [1] }]);
    expect((await exit).status).toBe(503);
    await server.kill();
    await expect
      .poll(async () => (await fetch(`${server.http}/v2/health/live`).catch(() => undefined))?.status)
      .toBe(200);
    await expect.poll(async () => (await askThread(server.http)).status).toBe(503);
    Atomics.store(held, 1, 1);
    await expect.poll(async () => (await askThread(server.http)).status).toBe(200);
    expect(await isReady(server.http)).toBe(true);
  });

  it('stops at once when it is stopped meanwhile', async () => {
    await using server = await startMortal(
      (triton) => void triton.bind({ ...echo, inferFunc: (requests) => requests }),
    );
    let stopped: Promise<void> | undefined;
    server.triton.onUnrecoverable = (error) => {
      server.told.push(error);
      stopped = server.triton.stop();
    };
    await server.kill({ last: true });
    await stopped;
    expect(server.triton.httpPort).toBeUndefined();
    // And it can run again.
    await server.triton.run();
    expect((await ask(`http://127.0.0.1:${server.triton.httpPort}`)).status).toBe(200);
  });

  it('is for good after ten restarts in a row: serve() rejects, and everything is closed', async () => {
    const logFile = file('given-up', '');
    const triton = new Triton({ ...FREE_PORTS, logFile });
    using watched = watchThreads();
    triton.bind({ ...echo, inferFunc: (requests) => requests });
    const told: TritonError[] = [];
    triton.onUnrecoverable = (error) => told.push(error);
    const served = triton.serve();
    let over = false;
    served.catch(() => (over = true));
    await triton.ready();
    const port = triton.httpPort!;
    // Its port is taken by somebody else from the moment that it dies.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await watched.started[0]!.terminate();
    await using _other = await listenOn(port);
    // The pauses between the attempts come to half a minute.
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve));
      vi.advanceTimersByTime(1000);
    }
    vi.useRealTimers();
    await expect(served).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(
        /^the server is given up after 10 restarts in a row: Socket '.*' already in use; choose another httpPort, or 0 for any free one$/,
      ) as string,
    });
    expect(told.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
    expect(triton.httpPort).toBeUndefined();
    expect(readFileSync(logFile, 'utf8').match(/the server did not start again: /g)).toHaveLength(10);
  });
});
