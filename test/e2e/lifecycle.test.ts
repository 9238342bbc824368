import { once } from 'node:events';
import { createServer } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { Triton } from 'tstriton';

import { RawConnection } from '../support/raw-http.js';
import { FREE_PORTS, gate, inferJson, startServer } from '../support/start-server.js';
import { WAIT_MILLISECONDS } from '../support/waiting.js';

const SPEC = {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
} as const;
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

function bindIdentity(triton: Triton, modelName = 'Identity', modelVersion = 1): void {
  triton.bind({ modelName, modelVersion, ...SPEC, inferFunc: (requests) => requests });
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

describe.each([{ serverThread: true }, { serverThread: false }])('life cycle with %o', ({ serverThread }) => {
  it('is ready after run, and gone after stop', async () => {
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    bindIdentity(triton);
    expect(triton.isReady).toBe(false);
    expect(triton.httpPort).toBeUndefined();
    await triton.run();
    const http = `http://127.0.0.1:${triton.httpPort}`;
    expect(triton.isReady).toBe(true);
    expect(await statusOf(`${http}/v2/health/ready`)).toBe(200);
    await triton.stop();
    expect(triton.isReady).toBe(false);
    expect(triton.grpcPort).toBeUndefined();
    await expect(fetch(`${http}/v2/health/live`)).rejects.toThrow('fetch failed');
    await triton.stop();
  });

  it('runs again after stop, with its models', async () => {
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    bindIdentity(triton);
    for (let round = 0; round < 3; round++) {
      await triton.run();
      const answer = await inferJson(`http://127.0.0.1:${triton.httpPort}`, 'Identity', ONE);
      expect(answer.outputs[0]!.data).toEqual([1]);
      await triton.stop();
    }
  });

  it('ends an unbind that waits for a request which a stop cuts off', async () => {
    const [started, released] = [gate(), gate()];
    const triton = new Triton({ ...FREE_PORTS, serverThread, exitTimeoutSecs: 0 });
    const inferFunc = async () => {
      started.open();
      await released.opened;
      throw new Error('nobody waits for this any more');
    };
    triton.bind({ modelName: 'Held', ...SPEC, inferFunc });
    await triton.run();
    const asked = inferJson(`http://127.0.0.1:${triton.httpPort}`, 'Held', ONE).catch((error: unknown) => error);
    await started.opened;
    const unbound = triton.unbind('Held');
    await triton.stop();
    await expect(unbound).resolves.toBeUndefined();
    released.open();
    await asked;
  });

  it('refuses to run twice at the same time', async () => {
    await using server = await startServer(bindIdentity, { serverThread });
    await expect(server.triton.run()).rejects.toThrow('the server runs already');
  });

  it('stops a run that was started again while stopping', async () => {
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    bindIdentity(triton);
    await triton.run();
    const stopping = triton.stop();
    const running = triton.run();
    await stopping;
    await running;
    expect(triton.isReady).toBe(true);
    await triton.stop();
    expect(triton.httpPort).toBeUndefined();
  });

  it('loads a model that is bound while it runs', async () => {
    await using server = await startServer(bindIdentity, { serverThread });
    bindIdentity(server.triton, 'Later');
    await server.triton.ready('Later');
    expect(server.triton.isReady).toBe(true);
    expect((await inferJson(server.http, 'Later', ONE)).status).toBe(200);
    await expect(server.triton.ready('Never')).rejects.toThrow("model 'Never' is not bound");
  });

  it('serves several versions of a model, the latest by default', async () => {
    const version = (number: number) => (triton: Triton) =>
      triton.bind({
        modelName: 'V',
        modelVersion: number,
        ...SPEC,
        inferFunc: (requests) => requests.map(() => ({ y: [number] })),
      });
    await using server = await startServer((triton) => [version(1), version(3)].forEach((bind) => bind(triton)), {
      serverThread,
    });
    expect((await inferJson(server.http, 'V', ONE)).outputs[0]!.data).toEqual([3]);
    expect((await inferJson(server.http, 'V/versions/1', ONE)).outputs[0]!.data).toEqual([1]);
    expect((await inferJson(server.http, 'V/versions/2', ONE)).status).toBe(404);
  });

  it('serves the versions that the policy of the highest one names', async () => {
    const version = (modelVersion: number, numVersions: number) => (triton: Triton) =>
      void triton.bind({
        modelName: 'V',
        modelVersion,
        ...SPEC,
        config: { versionPolicy: { latest: { numVersions } } },
        inferFunc: (requests) => requests,
      });
    await using server = await startServer((triton) => [version(1, 5), version(2, 1)].forEach((bind) => bind(triton)), {
      serverThread,
    });
    expect((await inferJson(server.http, 'V/versions/2', ONE)).status).toBe(200);
    expect((await inferJson(server.http, 'V/versions/1', ONE)).status).not.toBe(200);
    version(3, 2)(server.triton);
    await server.triton.ready('V');
    expect((await inferJson(server.http, 'V/versions/3', ONE)).status).toBe(200);
    expect((await inferJson(server.http, 'V/versions/2', ONE)).status).toBe(200);
    await server.triton.unbind('V', 3);
    expect((await inferJson(server.http, 'V', ONE)).status).toBe(200);
  });

  it('serves what the policy names that is left after unbind, or that came with rebind', async () => {
    const versioned = (modelVersion: number, numVersions: number) => ({
      modelName: 'V',
      modelVersion,
      ...SPEC,
      config: { versionPolicy: { latest: { numVersions } } },
      inferFunc: (requests: readonly unknown[]) => requests as never,
    });
    await using server = await startServer(
      (triton) => void triton.bind(versioned(1, 1)).bind(versioned(2, 2)).bind(versioned(3, 1)),
      { serverThread },
    );
    const served = async () =>
      Promise.all([1, 2, 3].map(async (number) => (await inferJson(server.http, `V/versions/${number}`, ONE)).status));
    expect(await served()).toEqual([503, 503, 200]);
    await server.triton.rebind(versioned(3, 2));
    expect(await served()).toEqual([503, 200, 200]);
    await server.triton.unbind('V', 3);
    expect(await served()).toEqual([200, 200, 404]);
    await server.triton.unbind('V', 2);
    expect(await served()).toEqual([200, 404, 404]);
  });

  it('refuses the same name and version twice', () => {
    const triton = new Triton({ ...FREE_PORTS, serverThread });
    bindIdentity(triton);
    expect(() => bindIdentity(triton)).toThrow(expect.objectContaining({ code: 'ALREADY_EXISTS' }));
    bindIdentity(triton, 'Identity', 2);
  });

  it('names a port that is in use, and leaves nothing open', async () => {
    const blocker = createServer();
    const port = await new Promise<number>((resolve) =>
      blocker.listen(0, '0.0.0.0', () => resolve((blocker.address() as { port: number }).port)),
    );
    try {
      const triton = new Triton({ ...FREE_PORTS, grpcPort: port, serverThread });
      bindIdentity(triton);
      await expect(triton.run()).rejects.toThrow(new RegExp(`\\b${port}\\b`));
      expect(triton.isReady).toBe(false);
      expect(triton.httpPort).toBeUndefined();
    } finally {
      await new Promise((resolve) => blocker.close(resolve));
    }
  });

  it('lets a request under way finish on stop, and refuses new ones', async () => {
    const started = gate();
    const release = gate();
    const server = await startServer(
      (triton) =>
        void triton.bind({
          modelName: 'Slow',
          ...SPEC,
          inferFunc: async (requests) => {
            started.open();
            await release.opened;
            return requests;
          },
        }),
      { serverThread },
    );
    const answer = inferJson(server.http, 'Slow', ONE);
    await started.opened;
    const stopping = server.triton.stop();
    expect(server.triton.isReady).toBe(false);
    release.open();
    expect((await answer).status).toBe(200);
    await stopping;
  });

  it('fails what is still under way when the exit timeout has passed', async () => {
    const started = gate();
    const server = await startServer(
      (triton) =>
        void triton.bind({
          modelName: 'Never',
          ...SPEC,
          inferFunc: () => {
            started.open();
            return new Promise<never>(() => undefined);
          },
        }),
      { serverThread, exitTimeoutSecs: 0 },
    );
    const answer = inferJson(server.http, 'Never', ONE);
    await started.opened;
    await server.triton.stop();
    expect(await answer).toMatchObject({ status: 503, error: 'Server exiting' });
  });

  it('leaves nothing of a model that is still being set up when the server has ended', async () => {
    const ended = gate();
    process.once('worker', (thread) => thread.once('exit', () => ended.open()));
    const setUp = gate();
    const begun = gate();
    const server = await startServer(bindIdentity, { serverThread });
    const ports = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
    server.triton.bind({
      modelName: 'Late',
      ...SPEC,
      setup: () => {
        begun.open();
        return setUp.opened;
      },
      inferFunc: (requests) => requests,
    });
    await begun.opened;
    const stopped = server.triton.stop();
    if (serverThread) await ended.opened;
    setUp.open();
    await stopped;
    await expect.poll(ports).toBe(0);
  });

  it('tears a model down that has nothing to set up', async () => {
    const events: string[] = [];
    const server = await startServer(
      (triton) => {
        const teardown = () => void events.push('teardown');
        triton.bind({ modelName: 'Identity', ...SPEC, teardown, inferFunc: (requests) => requests });
      },
      { serverThread },
    );
    expect(events).toEqual([]);
    await server.triton.stop();
    expect(events).toEqual(['teardown']);
  });

  it('does not load for the next run what clients wanted of the one before', async () => {
    const events: string[] = [];
    const tornDown = gate();
    const triton = new Triton({
      ...FREE_PORTS,
      serverThread,
      modelControlMode: 'explicit',
      loadModel: '*',
      restrictedEndpoints: [],
    });
    triton.bind({
      modelName: 'Identity',
      ...SPEC,
      setup: () => void events.push('setup'),
      teardown: async () => {
        events.push('teardown');
        await tornDown.opened;
      },
      inferFunc: (requests) => requests,
    });
    await triton.run();
    await fetch(`http://127.0.0.1:${triton.httpPort}/v2/repository/models/Identity/unload`, { method: 'POST' });
    await expect.poll(() => events).toEqual(['setup', 'teardown']);
    // Waits for the teardown, and then for a server that is being stopped.
    await using connection = await RawConnection.open(triton.httpPort!);
    await connection.send('POST /v2/repository/models/Identity/load HTTP/1.1\r\nHost: h\r\n\r\n');
    const stopped = triton.stop();
    tornDown.open();
    await stopped;
    expect(events).toEqual(['setup', 'teardown']);
    await triton.run();
    expect(events).toEqual(['setup', 'teardown', 'setup']);
    await triton.stop();
    expect(events).toEqual(['setup', 'teardown', 'setup', 'teardown']);
  });

  it('several servers live in one process', async () => {
    await using first = await startServer((triton) => bindIdentity(triton, 'First'), { serverThread });
    await using second = await startServer((triton) => bindIdentity(triton, 'Second'), { serverThread });
    expect((await inferJson(first.http, 'First', ONE)).status).toBe(200);
    expect((await inferJson(second.http, 'Second', ONE)).status).toBe(200);
    expect((await inferJson(second.http, 'First', ONE)).status).toBe(404);
  });

  it('serves one protocol alone', async () => {
    await using server = await startServer(bindIdentity, { serverThread, allowGrpc: false, allowMetrics: false });
    expect(server.triton.grpcPort).toBeUndefined();
    expect(server.triton.metricsPort).toBeUndefined();
    expect((await inferJson(server.http, 'Identity', ONE)).status).toBe(200);
  });
});

describe('serve', () => {
  afterEach(() => vi.restoreAllMocks());

  it.each(['SIGINT', 'SIGTERM'] as const)('ends on %s after a clean stop', async (signal) => {
    const triton = new Triton(FREE_PORTS);
    bindIdentity(triton);
    const served = triton.serve();
    await triton.ready();
    process.emit(signal, signal);
    await served;
    expect(triton.httpPort).toBeUndefined();
    expect(process.listenerCount(signal)).toBe(0);
  });

  it('joins a server that run has started, or is starting', async () => {
    const triton = new Triton(FREE_PORTS);
    bindIdentity(triton);
    const running = triton.run();
    const joined = triton.serve();
    await running;
    const port = triton.httpPort;
    const again = triton.serve();
    expect(triton.httpPort).toBe(port);
    await triton.stop();
    await joined;
    await again;
  });

  it('ends when stop is called', async () => {
    const triton = new Triton(FREE_PORTS);
    bindIdentity(triton);
    const served = triton.serve();
    await triton.ready();
    await triton.stop();
    await expect(served).resolves.toBeUndefined();
  });

  it.each([
    ['httpPort', { serverThread: true }],
    ['grpcPort', { serverThread: true }],
    ['metricsPort', { serverThread: true }],
    ['grpcPort', { serverThread: false }],
  ] as const)('rejects when %s is taken, and says what to change, with %o', async (option, config) => {
    await using server = await startServer(bindIdentity);
    const port = server.triton[option]!;
    const triton = new Triton({ ...FREE_PORTS, ...config, [option]: port });
    await expect(triton.serve()).rejects.toMatchObject({
      name: 'TritonError',
      code: 'UNAVAILABLE',
      message: `Socket '0.0.0.0:${port}' already in use; choose another ${option}, or 0 for any free one`,
    });
  });
});

describe('a callable that computes', () => {
  it('does not delay health checks', async () => {
    // Whether health was asked often enough.
    const enough = new Int32Array(new SharedArrayBuffer(4));
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          modelName: 'Busy',
          ...SPEC,
          inferFunc: (requests) => {
            const released = Atomics.wait(enough, 0, 0, WAIT_MILLISECONDS) !== 'timed-out';
            return requests.map(() => ({ y: [[released ? 1 : 0]] }));
          },
        }),
    );
    // This thread is busy with the callable, so another one asks.
    const { Worker } = await import('node:worker_threads');
    const prober = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       const { http, enough, body } = workerData;
       (async () => {
         const answer = fetch(http + '/v2/models/Busy/infer', { method: 'POST', body });
         while (!/^tstriton_batches_total.* 1$/m.test(await (await fetch(workerData.metrics)).text()));
         const statuses = [];
         for (let i = 0; i < 10; i++) statuses.push((await fetch(http + '/v2/health/live')).status);
         Atomics.store(enough, 0, 1);
         Atomics.notify(enough, 0);
         parentPort.postMessage({ statuses, answer: await (await answer).json() });
       })();`,
      {
        eval: true,
        workerData: { http: server.http, metrics: server.metrics, enough, body: JSON.stringify({ inputs: ONE }) },
      },
    );
    const [result] = await once(prober, 'message');
    await prober.terminate();
    expect(result).toMatchObject({
      statuses: Array.from({ length: 10 }, () => 200),
      answer: { outputs: [{ data: [1] }] },
    });
  });
});
