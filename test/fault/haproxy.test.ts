// Links that pass through haproxy, as a stream of bytes (mode tcp) or as calls (mode http). `.ci/run` fetches haproxy.
import { describe, expect, it } from 'vitest';

import { batch, defineModel, type RemoteTriton, TritonError } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { HAS_HAPROXY, idleConnectionEnds, startHaproxy } from '../support/haproxy.js';
import { connectRemote, REMOTE, REMOTE_TOKEN, remoteOf, SILENT } from '../support/remote.js';
import { gate, startServer } from '../support/start-server.js';
import { watchedProcess } from '../support/watched-process.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'int32', shape: [-1] } },
  outputs: { y: { dtype: 'int32', shape: [-1] } },
  config: { maxBatchSize: 8 },
  strict: true,
});

const count = defineModel({
  modelName: 'Count',
  inputs: { from: { dtype: 'int32', shape: [1] }, length: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  config: { decoupled: true, batching: false },
  strict: true,
});

const where = defineModel({
  modelName: 'Where',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] }, name: { dtype: 'string', shape: [1] } },
  strict: true,
});

const MODES = ['tcp', 'http'] as const;
const LOST = 'is lost';

function bindDouble(remote: RemoteTriton): void {
  remote.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })) });
}

/** A log, and how often a text was in it. */
function recorded() {
  const lines: string[] = [];
  const add = (line: string) => void lines.push(line);
  return {
    logger: { ...SILENT, info: add, warn: add, error: add },
    times: (words: string) => lines.filter((line) => line.includes(words)).length,
  };
}

const fixture = (name: string) => new URL(`../fixtures/${name}.js`, import.meta.url).pathname;

async function isServing(http: string, model: string): Promise<boolean> {
  const response = await fetch(`${http}/v2/models/${model}/ready`);
  await response.body?.cancel();
  return response.ok;
}

const at = (port: number) => ({ grpc: `grpc://127.0.0.1:${port}` });

/** So many at the same time, all different. */
async function askMany(http: string, times: number, length = 3): Promise<void> {
  await using client = new ModelClient(http, double, { retry: false });
  const sent = Array.from({ length: times }, (_, i) =>
    Int32Array.from({ length: length + i }, (__, j) => 1000 * i + j),
  );
  const answers = await Promise.all(sent.map((x) => client.inferSample({ x })));
  answers.forEach(({ y }, i) => expect(y.data).toEqual(sent[i]!.map((value) => 2 * value)));
}

describe.runIf(HAS_HAPROXY).each(MODES)('a link through haproxy in mode %s', (mode) => {
  it('answers requests and streams at the same time, each with its own', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const haproxy = await startHaproxy({ mode, timeout: '60s', servers: [server.triton.grpcPort!] });
    await using _remote = await connectRemote(at(haproxy.port), (remote) => {
      bindDouble(remote);
      remote.bind({
        ...count,
        inferFunc: async function* ([request]) {
          const { from, length } = request!.inputs;
          for (let i = 0; i < length.data[0]!; i++) yield [{ y: Int32Array.of(from.data[0]! + i) }];
        },
      });
    });
    await using streams = new ModelClient(server.grpc, count, { retry: false });
    const streamed = async (i: number) => {
      const seen: number[] = [];
      const inputs = { from: Int32Array.of(1000 * i), length: Int32Array.of(5 + i) };
      for await (const { y } of streams.streamSample(inputs)) seen.push(y.data[0]!);
      expect(seen).toEqual(Array.from({ length: 5 + i }, (_, j) => 1000 * i + j));
    };
    await Promise.all([
      askMany(server.http, 50),
      askMany(server.grpc, 50),
      // More than any window or buffer between them.
      askMany(server.http, 3, 500_000),
      ...Array.from({ length: 20 }, (_, i) => streamed(i)),
    ]);
  });

  it('is kept while it is idle, or a callable works, for longer than the timeouts of haproxy', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const haproxy = await startHaproxy({ mode, timeout: '2s', servers: [server.triton.grpcPort!] });
    const log = recorded();
    const gates = new Map<number, Promise<void>>();
    await using _remote = await connectRemote(
      at(haproxy.port),
      (remote) => {
        bindDouble(remote);
        remote.bind({
          ...double,
          modelName: 'Held',
          inferFunc: async (requests) => {
            await gates.get(requests[0]!.inputs.x.data[0]!);
            return requests.map(({ inputs }) => ({ y: inputs.x }));
          },
        });
      },
      { logger: log.logger },
    );
    await using client = new ModelClient(server.http, { ...double, modelName: 'Held' }, { retry: false });
    let round = 0;
    // A round: two connections that say nothing end one after the other. On a machine that stands still for a second the link may be
    // lost; without a heartbeat it is lost in each round.
    const isKept = async () => {
      const lost = log.times(LOST);
      const go = gate();
      gates.set(++round, go.opened);
      try {
        const held = client.inferSample({ x: Int32Array.of(round) });
        held.catch(() => undefined);
        await idleConnectionEnds(haproxy.port);
        go.open();
        expect((await held).y.data).toEqual(Int32Array.of(round));
        await idleConnectionEnds(haproxy.port);
        await askMany(server.http, 20);
      } catch (error) {
        if (TritonError.is(error) && error.code === 'UNAVAILABLE') return false;
        throw error;
      }
      return log.times(LOST) === lost;
    };
    while (!(await isKept()));
  });

  it('is kept while a callable blocks its thread for longer than the timeouts of haproxy', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const haproxy = await startHaproxy({ mode, timeout: '2s', servers: [server.triton.grpcPort!] });
    const binder = watchedProcess([fixture('remote-binder'), at(haproxy.port).grpc, REMOTE_TOKEN, 'busy']);
    await binder.wrote('connected');
    await using client = new ModelClient(server.http, where, { retry: false });
    const milliseconds = 5000;
    // Again only where this machine stood still: otherwise each of them would be lost.
    const answered = async () => {
      try {
        return (await client.inferSample({ x: Int32Array.of(-milliseconds) })).y.data[0];
      } catch (error) {
        if (TritonError.is(error) && error.code === 'UNAVAILABLE') return undefined;
        throw error;
      }
    };
    await expect.poll(answered).toBe(-2 * milliseconds);
  });

  it('ends when its process stands still, and comes back when that goes on', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const haproxy = await startHaproxy({ mode, timeout: '2s', servers: [server.triton.grpcPort!] });
    const binder = watchedProcess([fixture('remote-binder'), at(haproxy.port).grpc, REMOTE_TOKEN, 'only']);
    await binder.wrote('connected');
    binder.kill('SIGSTOP');
    await expect.poll(() => isServing(server.http, 'Where')).toBe(false);
    binder.kill('SIGCONT');
    await expect.poll(() => isServing(server.http, 'Where')).toBe(true);
  });

  it('outlives a reload of haproxy, and comes back through the new haproxy when the old one dies', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const haproxy = await startHaproxy({ mode, timeout: '60s', servers: [server.triton.grpcPort!] });
    const log = recorded();
    await using _remote = await connectRemote(at(haproxy.port), bindDouble, { logger: log.logger });
    await askMany(server.http, 10);
    const old = await haproxy.reload();
    await using _other = await connectRemote(at(haproxy.port), bindDouble);
    await askMany(server.http, 30);
    expect(log.times(LOST)).toBe(0);
    for (const id of old) process.kill(id, 'SIGKILL');
    await expect.poll(() => log.times(`linked to grpc://127.0.0.1:${haproxy.port} again`)).toBe(1);
    await askMany(server.http, 30);
  });

  it('comes back when haproxy was dead', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const haproxy = await startHaproxy({ mode, timeout: '60s', servers: [server.triton.grpcPort!] });
    const log = recorded();
    await using remote = await connectRemote(at(haproxy.port), bindDouble, { logger: log.logger });
    await haproxy.kill();
    await expect.poll(() => log.times('cannot link again')).toBeGreaterThan(0);
    expect(remote.isReady).toBe(false);
    await haproxy.restart();
    await expect.poll(() => remote.isReady).toBe(true);
    await askMany(server.http, 20);
  });

  it('is to one of two servers, and to the other one when that is killed', async () => {
    const servers = [0, 1].map(() => watchedProcess([fixture('remote-server'), REMOTE_TOKEN]));
    await Promise.all(servers.map((server) => server.wrote(';')));
    const port = (i: number, name: string) => Number(new RegExp(`${name}=(\\d+)`).exec(servers[i]!.output)![1]);
    const haproxy = await startHaproxy({ mode, timeout: '60s', servers: [port(0, 'grpc'), port(1, 'grpc')] });
    await using _remote = await connectRemote(at(haproxy.port), bindDouble);
    const serving = (i: number) => isServing(`http://127.0.0.1:${port(i, 'http')}`, 'Double');
    const first = (await serving(0)) ? 0 : 1;
    expect(await serving(1 - first)).toBe(false);
    servers[first]!.kill('SIGKILL');
    await expect.poll(() => serving(1 - first)).toBe(true);
    await askMany(`http://127.0.0.1:${port(1 - first, 'http')}`, 20);
  });

  it('is refused with the reason, by the server and where no server is', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const haproxy = await startHaproxy({ mode, timeout: '60s', servers: [server.triton.grpcPort!] });
    await expect(remoteOf(at(haproxy.port), { accessToken: 'guess' }).connect()).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: "the access token is not the server's remoteAccessToken",
    });
    await server.triton.stop();
    await expect(remoteOf(at(haproxy.port), { timeoutMs: 2000 }).connect()).rejects.toMatchObject({
      code: expect.stringMatching(/^(UNAVAILABLE|DEADLINE_EXCEEDED)$/),
      message: expect.stringContaining(`grpc://127.0.0.1:${haproxy.port}`),
    });
  });
});

describe.runIf(HAS_HAPROXY)('an idle link through haproxy in mode http', () => {
  // haproxy answers the pings of HTTP/2 itself, so that they tell neither end of the other.
  it('is kept for longer than a silent server is', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    const haproxy = await startHaproxy({ mode: 'http', timeout: '40s', servers: [server.triton.grpcPort!] });
    const log = recorded();
    await using _remote = await connectRemote(at(haproxy.port), bindDouble, { logger: log.logger });
    await idleConnectionEnds(haproxy.port);
    expect(log.times(LOST)).toBe(0);
    await askMany(server.http, 20);
  });
});
