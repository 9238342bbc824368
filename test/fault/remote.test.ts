// Links that end in every way: the process of the callables is killed, or the server is, or the network between them is cut
// or goes silent. Each takes only the requests under way, and all go on by themselves.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';

import { batch, defineModel } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { REMOTE, REMOTE_TOKEN, remoteOf } from '../support/remote.js';
import { type RunningServer, startServer } from '../support/start-server.js';
import { watchThreads } from '../support/watched-threads.js';
import { watchedProcess, type WatchedProcess } from '../support/watched-process.js';

const where = defineModel({
  modelName: 'Where',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] }, name: { dtype: 'string', shape: [1] } },
  strict: true,
});

const local = defineModel({
  modelName: 'Local',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  strict: true,
});

const fixture = (name: string) => new URL(`../fixtures/${name}.js`, import.meta.url).pathname;

function startBinder(address: string, name: string): WatchedProcess {
  return watchedProcess([fixture('remote-binder'), address, REMOTE_TOKEN, name]);
}

async function connected(address: string, name: string): Promise<WatchedProcess> {
  const binder = startBinder(address, name);
  await binder.wrote('connected');
  return binder;
}

async function readiness(http: string, model = 'Where'): Promise<readonly [number, number]> {
  const status = async (path: string) => {
    const response = await fetch(`${http}/v2/${path}`);
    await response.body?.cancel();
    return response.status;
  };
  return [await status(`models/${model}/ready`), await status('health/ready')];
}

async function ask(http: string, x: number): Promise<string> {
  await using client = new ModelClient(http, where, { retry: false });
  const { y, name } = await client.inferSample({ x: Int32Array.of(x) });
  return `${y.data[0]} by ${name.data[0]}`;
}

/**
 * A network that a test may cut, or make silent. With several targets it is a balancer: each connection leads to the next
 * of them.
 */
async function network(...targets: readonly number[]) {
  const sockets = new Set<Socket>();
  /** In order, from whoever connects. */
  const connections: Socket[] = [];
  let isSilent = false;
  const proxy = createServer((near) => {
    const far = connect(targets[connections.length % targets.length]!, '127.0.0.1');
    connections.push(near);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => void (isSilent || to.write(bytes)));
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        // A silent network tells nobody of an end.
        if (!isSilent) to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(async () => {
    cut();
    await new Promise((resolve) => proxy.close(resolve));
  });
  return {
    port: (proxy.address() as AddressInfo).port,
    connections,
    cut,
    silence: () => (isSilent = true),
  };
}

/** A model behind a network, with a request that never ends under way. */
async function hangingBehind(server: RunningServer) {
  const line = await network(server.triton.grpcPort!);
  const binder = await connected(`127.0.0.1:${line.port}`, 'far');
  const hanging = ask(server.http, -1);
  hanging.catch(() => undefined);
  await binder.wrote('hangs');
  return { line, binder, hanging };
}

describe('the process of a model that is killed', () => {
  it('takes its requests under way and its model, and nothing else, until another process binds it', async () => {
    await using server = await startServer((triton) => {
      triton.bind({ ...local, inferFunc: batch(({ x }) => ({ y: x })) });
    }, REMOTE);
    const binder = await connected(server.grpc, 'first');
    expect(await ask(server.http, 4)).toBe('8 by first');
    const hanging = ask(server.http, -1);
    hanging.catch(() => undefined);
    await binder.wrote('hangs');
    binder.kill('SIGKILL');
    await expect(hanging).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: "an instance of model 'Where' ended while it was working on the request",
    });
    expect(await readiness(server.http)).toEqual([400, 400]);
    await expect(ask(server.http, 5)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: "model 'Where' is not ready: all instances have ended",
    });
    await using client = new ModelClient(server.http, local);
    expect((await client.inferSample({ x: Int32Array.of(7) })).y.data[0]).toBe(7);
    await connected(server.grpc, 'second');
    expect(await readiness(server.http)).toEqual([200, 200]);
    expect(await ask(server.http, 6)).toBe('12 by second');
  });

  it('leaves the model to the others that have bound it', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const first = await connected(server.grpc, 'first');
    await connected(server.grpc, 'second');
    const seen = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(server.http, i)));
    expect(new Set(seen.map((answer) => answer.split(' ').at(-1)))).toEqual(new Set(['first', 'second']));
    first.kill('SIGKILL');
    await first.ended;
    await expect.poll(async () => ask(server.http, 9).catch(String)).toBe('18 by second');
    expect(await readiness(server.http)).toEqual([200, 200]);
    const after = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(server.http, i)));
    expect(after).toEqual(Array.from({ length: 10 }, (_, i) => `${2 * i} by second`));
  });

  it('says goodbye when it is told to end', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const binder = await connected(server.grpc, 'only');
    binder.kill('SIGTERM');
    expect(await binder.ended).toBe(0);
    expect(binder.output).toContain('stopped');
    expect(await readiness(server.http)).toEqual([400, 200]);
  });
});

describe('a server that is killed', () => {
  it('gets its models again when it is there again', async () => {
    const server = watchedProcess([fixture('remote-server'), REMOTE_TOKEN]);
    await server.wrote(';');
    const port = /grpc=(\d+)/.exec(server.output)![1]!;
    const binder = await connected(`127.0.0.1:${port}`, 'faithful');
    server.kill('SIGKILL');
    await server.ended;
    await binder.wrote('is lost');
    await binder.wrote('cannot link again');
    const next = watchedProcess([fixture('remote-server'), REMOTE_TOKEN, port]);
    await next.wrote(';');
    const http = `http://127.0.0.1:${/http=(\d+)/.exec(next.output)![1]}`;
    await binder.wrote('again');
    await expect.poll(async () => (await readiness(http))[0]).toBe(200);
    expect(await ask(http, 21)).toBe('42 by faithful');
  });
});

describe("a server's thread that dies", () => {
  it('gets the models of other processes back, beside its own', async () => {
    using threads = watchThreads();
    await using server = await startServer((triton) => {
      triton.bind({ ...local, inferFunc: batch(({ x }) => ({ y: x })) });
    }, REMOTE);
    const binder = await connected(server.grpc, 'faithful');
    const hanging = ask(server.http, -1);
    hanging.catch(() => undefined);
    await binder.wrote('hangs');
    await threads.started[0]!.terminate();
    await expect(hanging).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await binder.wrote('again');
    await expect.poll(() => readiness(server.http).catch(() => undefined)).toEqual([200, 200]);
    await expect.poll(() => readiness(server.http, 'Local')).toEqual([200, 200]);
  });
});

describe('a network', () => {
  it('that is cut costs the requests under way, and the model serves again by itself', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const { line, binder, hanging } = await hangingBehind(server);
    line.cut();
    await expect(hanging).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await binder.wrote('linked to grpc://127.0.0.1:' + line.port + ' again');
    await expect.poll(async () => (await readiness(server.http))[0]).toBe(200);
  });

  it('that goes silent is noticed by both ends, though nothing says so', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const { line, binder, hanging } = await hangingBehind(server);
    line.silence();
    await expect(hanging).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect((await readiness(server.http))[0]).toBe(400);
    await binder.wrote('has sent nothing for 30 s');
  });
});

describe("the connection of a callable's own", () => {
  it('carries the tensors, so that they do not pass the thread of the link', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const line = await network(server.triton.grpcPort!);
    await using remote = remoteOf({ grpc: `127.0.0.1:${line.port}` });
    const echo = defineModel({
      modelName: 'Echo',
      inputs: { x: { dtype: 'uint8', shape: [-1] } },
      outputs: { y: { dtype: 'uint8', shape: [-1] } },
      strict: true,
    });
    remote.bind({ ...echo, inferFunc: ([request]) => [{ y: request!.inputs.x }] });
    await remote.connect();
    await using client = new ModelClient(server.http, echo);
    const x = Uint8Array.from({ length: 1_000_000 }, (_, i) => i % 251);
    expect((await client.inferSample({ x })).y.data).toEqual(x);
    const [link, own] = line.connections.map(({ bytesRead, bytesWritten }) => [bytesRead, bytesWritten] as const);
    expect(line.connections).toHaveLength(2);
    for (const bytes of link!) expect(bytes).toBeLessThan(10_000);
    for (const bytes of own!) expect(bytes).toBeGreaterThan(x.length);
  });

  it('that is lost costs the requests under way, and the model serves again by itself', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const { line, binder, hanging } = await hangingBehind(server);
    line.connections[1]!.destroy();
    await expect(hanging).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await binder.wrote('a callable has lost its connection');
    await binder.wrote(`linked to grpc://127.0.0.1:${line.port} again`);
    await expect.poll(async () => (await readiness(server.http))[0]).toBe(200);
    expect(line.connections).toHaveLength(4);
  });

  it('that a balancer leads to another server is not used, and the link serves alone', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    await using other = await startServer(() => undefined, REMOTE);
    const line = await network(server.triton.grpcPort!, other.triton.grpcPort!);
    await connected(`127.0.0.1:${line.port}`, 'balanced');
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(server.http, i)));
    expect(answers).toEqual(Array.from({ length: 20 }, (_, i) => `${2 * i} by balanced`));
    expect(line.connections).toHaveLength(2);
    expect(line.connections[1]!.closed).toBe(true);
  });
});

describe('a callable that blocks its thread', () => {
  it('keeps its link for longer than a dead process would', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const binder = await connected(server.grpc, 'busy');
    const milliseconds = 18_000;
    const answer = ask(server.http, -milliseconds);
    await binder.wrote('blocks');
    expect(await answer).toBe(`${-2 * milliseconds} by busy`);
    expect(binder.output).not.toContain('lost');
  });
});
