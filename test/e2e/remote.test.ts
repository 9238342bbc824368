// Models of another process: what bind, connect and stop do, what they refuse, and what a client sees of the model.
import { existsSync } from 'node:fs';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';

import {
  batch,
  type Callable,
  defineModel,
  InferenceResponse,
  RemoteTriton,
  stream,
  type Tensor,
  Triton,
  type TritonConfig,
} from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { answerGrpc, failGrpc } from '../support/fake-servers.js';
import { framed, rawGrpcCall } from '../support/raw-grpc.js';
import { connectRemote, REMOTE, REMOTE_TOKEN, remoteOf, SILENT } from '../support/remote.js';
import { gate, startServer } from '../support/start-server.js';
import { emptyFolder } from '../support/temporary-files.js';
import { watchedProcess } from '../support/watched-process.js';

const addSub = defineModel({
  modelName: 'AddSub',
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
  outputs: { sum: { dtype: 'float32', shape: [-1] }, difference: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 16 },
  strict: true,
});

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
  config: { maxBatchSize: 8 },
  strict: true,
});

function bindAddSub(remote: RemoteTriton): void {
  remote.bind({
    ...addSub,
    inferFunc: batch(({ a, b }) => ({
      sum: a.map((value, i) => value + b.data[i]!),
      difference: a.map((value, i) => value - b.data[i]!),
    })),
  });
}

function bindDouble(remote: RemoteTriton, factor = 2): void {
  remote.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x.map((value) => factor * value) })) });
}

async function statusOf(http: string, path: string): Promise<number> {
  const response = await fetch(`${http}/v2/${path}`);
  await response.body?.cancel();
  return response.status;
}

async function index(http: string): Promise<unknown> {
  return (
    await fetch(`${http}/v2/repository/index`, { method: 'POST', headers: { 'triton-access-token': 't' } })
  ).json();
}

describe('what a callable gives that no message can carry', () => {
  const faulty = defineModel({
    modelName: 'Faulty',
    inputs: { x: { dtype: 'int32', shape: [1] } },
    outputs: { y: { dtype: 'int32', shape: [1] } },
    strict: true,
  });

  it.each<[string, Callable, string]>([
    [
      'an integer of more than 64 bits in an answer',
      ([request]) => [new InferenceResponse({ y: request!.inputs['x']! }, { parameters: { long: 10n ** 25n } })],
      "model 'Faulty' gave a response parameter 'long' that is 10000000000000000000000000, expected",
    ],
    [
      'a parameter of a call that is no value',
      async (_, { models }) => [
        { y: (await models['Double']!.infer({}, { parameters: { deep: {} as never } }))['y']! },
      ],
      "parameter 'deep' of a call of model 'Double' must be a string, a boolean, a number or a bigint of 64 bits, got ",
    ],
    [
      'an output of a call that is no name',
      async (_, { models }) => [{ y: (await models['Double']!.infer({}, { outputs: [7 as never] }))['y']! }],
      "a name in outputs of a call of model 'Double' must be a string, got 7",
    ],
  ])('fails its own request, and not the link: %s', async (_, inferFunc, message) => {
    await using server = await startServer(() => undefined, REMOTE);
    const errors: string[] = [];
    const logger = { ...SILENT, error: (text: string) => void errors.push(text) };
    await using remote = await connectRemote(
      server,
      (process) => {
        bindDouble(process);
        process.bind({ ...faulty, inferFunc } as never);
      },
      { logger },
    );
    await using client = new ModelClient(server.http, faulty);
    await expect(client.inferSample({ x: Int32Array.of(1) })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining(message),
    });
    expect(errors.filter((text) => text.includes('the link to'))).toEqual([]);
    expect(remote.isReady).toBe(true);
  });
});

describe.each([{ serverThread: true }, { serverThread: false }])('a model of another process with %o', (thread) => {
  const config = { ...thread, ...REMOTE, accessToken: 't' };

  it('is served as if it were bound here', async () => {
    await using server = await startServer(() => undefined, config);
    await using remote = await connectRemote(server, bindAddSub);
    expect(remote.isReady).toBe(true);
    for (const url of [server.http, server.grpc]) {
      await using client = new ModelClient(url, addSub);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          client.inferSample({ a: Float32Array.of(i, 1), b: Float32Array.of(2, i) }),
        ),
      );
      expect(answers.map(({ sum, difference }) => [...sum.data, ...difference.data])).toEqual(
        Array.from({ length: 20 }, (_, i) => [i + 2, 1 + i, i - 2, 1 - i]),
      );
    }
    const { model_stats: stats } = (await (await fetch(`${server.http}/v2/models/AddSub/stats`)).json()) as {
      model_stats: { inference_count: number; inference_stats: Record<string, { count: number; ns: number }> }[];
    };
    expect(stats[0]!.inference_count).toBe(40);
    for (const name of ['compute_input', 'compute_infer', 'compute_output', 'success', 'queue']) {
      expect(stats[0]!.inference_stats[name]!.count).toBe(40);
      expect(stats[0]!.inference_stats[name]!.ns).toBeGreaterThanOrEqual(0);
    }
    expect(stats[0]!.inference_stats['compute_infer']!.ns).toBeLessThan(stats[0]!.inference_stats['success']!.ns);
  });

  it('is loaded when its process comes, in explicit mode too, and clients may unload it and load it again', async () => {
    const explicit = {
      ...config,
      modelControlMode: 'explicit',
      loadModel: ['Double'],
      restrictedEndpoints: [],
    } as const;
    await using server = await startServer(() => undefined, explicit);
    let setups = 0;
    await using _remote = await connectRemote(server, (remote) =>
      remote.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x })), setup: () => void setups++ }),
    );
    expect(await statusOf(server.http, 'models/Double/ready')).toBe(200);
    const control = async (action: string, body?: string) => {
      const url = `${server.http}/v2/repository/models/Double/${action}`;
      const response = await fetch(url, { method: 'POST', body: body ?? null });
      return `${response.status} ${await response.text()}`;
    };
    expect(await control('unload')).toBe('200 ');
    await expect.poll(() => statusOf(server.http, 'models/Double/ready')).toBe(400);
    expect(await control('load')).toBe('200 ');
    await using client = new ModelClient(server.grpc, double);
    expect((await client.inferSample({ x: Int32Array.of(5) })).y.data[0]).toBe(5);
    expect(setups).toBe(2);
    const changed = JSON.stringify({ parameters: { config: '{"max_batch_size": 2}' } });
    expect(await control('load', changed)).toContain('takes no other configuration than its own');
    expect((await client.inferSample({ x: Int32Array.of(6) })).y.data[0]).toBe(6);
  });

  it('is gone from the server when its process stops, and is there again when it connects', async () => {
    await using server = await startServer(() => undefined, config);
    const remote = await connectRemote(server, bindDouble);
    expect(await statusOf(server.http, 'models/Double/ready')).toBe(200);
    await remote.stop();
    expect(remote.isReady).toBe(false);
    expect(await index(server.http)).toEqual([]);
    expect(await statusOf(server.http, 'health/ready')).toBe(200);
    await remote.connect();
    expect(await statusOf(server.http, 'models/Double/ready')).toBe(200);
    await remote.stop();
  });

  it('keeps no process from its stop while its load never ends', async () => {
    await using server = await startServer(() => undefined, config);
    const { open, opened } = gate();
    const remote = remoteOf(server, { exitTimeoutSecs: 3600 });
    remote.bind({
      ...double,
      config: { modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'int32', shape: [1], zeroData: true } } }] },
      inferFunc: () => {
        open();
        return new Promise<never>(() => undefined);
      },
    });
    const connected = remote.connect();
    connected.catch(() => undefined);
    await opened;
    await remote.stop();
    await expect(connected).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await index(server.http)).toEqual([]);
  });

  it('is one of each process that has bound it', async () => {
    await using server = await startServer(() => undefined, config);
    const bothWork = gate();
    let working = 0;
    const bind = (remote: RemoteTriton) =>
      remote.bind({
        ...double,
        inferFunc: async (requests) => {
          if (++working === 2) bothWork.open();
          await bothWork.opened;
          return requests.map(({ inputs }) => ({ y: inputs.x.map((value) => 2 * value) }));
        },
        config: { maxBatchSize: 1 },
      });
    await using first = await connectRemote(server, bind);
    const second = await connectRemote(server, bind);
    await using client = new ModelClient(server.grpc, double);
    const answers = await Promise.all([1, 2].map((x) => client.inferSample({ x: Int32Array.of(x) })));
    expect(answers.map(({ y }) => y.data[0])).toEqual([2, 4]);
    await second.stop();
    expect(first.isReady).toBe(true);
    expect((await client.inferSample({ x: Int32Array.of(3) })).y.data[0]).toBe(6);
  });

  it('answers the requests under way before its process has stopped', async () => {
    await using server = await startServer(() => undefined, config);
    const begun = gate();
    const go = gate();
    const remote = await connectRemote(server, (triton) =>
      triton.bind({
        ...double,
        inferFunc: async ([request]) => {
          begun.open();
          await go.opened;
          return [{ y: request!.inputs.x }];
        },
      }),
    );
    await using client = new ModelClient(server.grpc, double);
    const answer = client.inferSample({ x: Int32Array.of(11) });
    await begun.opened;
    const stopped = remote.stop();
    go.open();
    await expect(answer).resolves.toMatchObject({ y: { data: Int32Array.of(11) } });
    await stopped;
  });

  it('is served until the requests under way are answered, when the server stops', async () => {
    const server = await startServer(() => undefined, config);
    const begun = gate();
    const go = gate();
    await using _remote = await connectRemote(server, (triton) =>
      triton.bind({
        ...double,
        inferFunc: async ([request]) => {
          begun.open();
          await go.opened;
          return [{ y: request!.inputs.x }];
        },
      }),
    );
    await using client = new ModelClient(server.grpc, double);
    const answer = client.inferSample({ x: Int32Array.of(12) });
    await begun.opened;
    const stopped = server.triton.stop();
    go.open();
    await expect(answer).resolves.toMatchObject({ y: { data: Int32Array.of(12) } });
    await stopped;
  });

  it('keeps its link when its results are larger than requests may be, or than the server takes', async () => {
    const MIB = 2 ** 20;
    await using server = await startServer(() => undefined, { ...config, maxInflightBytes: 16 * MIB });
    const bytes = defineModel({
      modelName: 'Bytes',
      inputs: { mebibytes: { dtype: 'int32', shape: [1] } },
      outputs: { y: { dtype: 'uint8', shape: [-1] } },
      strict: true,
    });
    let links = 0;
    await using _remote = await connectRemote(
      server,
      (remote) =>
        remote.bind({
          ...bytes,
          config: { maxBatchSize: 1 },
          inferFunc: ([request]) => [{ y: new Uint8Array(request!.inputs.mebibytes.data[0]! * MIB) }],
        }),
      { logger: { ...SILENT, info: (text) => void (links += Number(text.startsWith('linked to'))) } },
    );
    await using client = new ModelClient(server.http, bytes, { retry: false });
    const ask = async (mebibytes: number) =>
      (await client.inferSample({ mebibytes: Int32Array.of(mebibytes) })).y.data.length;
    expect(await ask(12)).toBe(12 * MIB);
    await expect(ask(65)).rejects.toThrow(
      /^a message of \d+ bytes is too large for a link, expected at most 67108864$/,
    );
    expect(await ask(1)).toBe(MIB);
    expect(links).toBe(1);
  });

  it.each([
    ['a connection of its own', 0],
    ['no connection of its own', 64],
  ])('answers on after an answer of a stream that is too large, with %s', async (_, others) => {
    const MIB = 2 ** 20;
    await using server = await startServer(() => undefined, { ...config, maxInflightBytes: 16 * MIB });
    const bytes = defineModel({
      modelName: 'Bytes',
      inputs: { mebibytes: { dtype: 'int32', shape: [1] } },
      outputs: { y: { dtype: 'uint8', shape: [-1] } },
      config: { decoupled: true, batching: false },
    });
    const errors: string[] = [];
    const bind = (remote: RemoteTriton) => {
      // Only so many callables of a process have connections of their own.
      const more = Array.from({ length: others }, () => batch(({ x }: { readonly x: Tensor<'int32'> }) => ({ y: x })));
      if (more.length > 0) remote.bind({ ...double, inferFunc: more });
      remote.bind({
        ...bytes,
        inferFunc: stream(async function* ({ mebibytes }) {
          yield { y: new Uint8Array(mebibytes.data[0]! * MIB) };
        }),
      });
    };
    const logger = { ...SILENT, error: (text: string) => void errors.push(text) };
    await using _remote = await connectRemote(server, bind, { logger });
    await using client = new ModelClient(server.grpc, bytes, { retry: false });
    const ask = async (mebibytes: number) => {
      let sum = 0;
      for await (const { y } of client.streamSample({ mebibytes: Int32Array.of(mebibytes) })) sum += y!.data.length;
      return sum;
    };
    expect(await ask(1)).toBe(MIB);
    await expect(ask(65)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect.poll(() => ask(1).catch(String), { timeout: 8000 }).toBe(MIB);
    expect(errors.join()).toMatch(
      /an answer of a stream cannot be sent: a message of \d+ bytes is too large for a link/,
    );
  });

  it('is bound also after the connection was made', async () => {
    await using server = await startServer(() => undefined, config);
    await using remote = await connectRemote(server, () => undefined);
    bindDouble(remote);
    await remote.ready('Double');
    await using client = new ModelClient(server.http, double);
    expect((await client.inferSample({ x: Int32Array.of(21) })).y.data[0]).toBe(42);
  });

  it('is refused where the server has bound the name, and the other way round', async () => {
    await using server = await startServer((triton) => {
      triton.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x })) });
    }, config);
    const remote = remoteOf(server);
    bindDouble(remote);
    await expect(remote.connect()).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: "model 'Double' version 1 is one of the server's own models",
    });
    await using _other = await connectRemote(server, bindAddSub);
    server.triton.bind({ ...addSub, inferFunc: batch(({ a, b }) => ({ sum: a, difference: b })) });
    await expect(server.triton.ready('AddSub')).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: "model 'AddSub' version 1 is bound by another process",
    });
  });

  it('is refused where this process has bound the name: nothing here replaces a model', () => {
    const remote = new RemoteTriton('grpc://localhost', { accessToken: 'any' });
    bindDouble(remote);
    expect(() => bindDouble(remote)).toThrow(
      expect.objectContaining({
        code: 'ALREADY_EXISTS',
        message: "Cannot add model with the same name twice: 'Double' version 1 is bound",
      }),
    );
  });

  it('is refused with another declaration than that of the other processes, which go on', async () => {
    await using server = await startServer(() => undefined, config);
    await using _first = await connectRemote(server, bindDouble);
    const other = remoteOf(server);
    other.bind({
      ...double,
      config: { maxBatchSize: 9 },
      inferFunc: (requests) => requests.map(({ inputs }) => ({ y: inputs.x })),
    });
    await expect(other.connect()).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: expect.stringContaining('with another declaration: maxBatchSize is 9, expected 8'),
    });
    await using client = new ModelClient(server.http, double);
    expect((await client.inferSample({ x: Int32Array.of(4) })).y.data[0]).toBe(8);
  });

  it('fails to load with the reason of its setup, and leaves nothing behind', async () => {
    await using server = await startServer(() => undefined, config);
    const remote = remoteOf(server);
    remote.bind({
      ...double,
      inferFunc: batch(({ x }) => ({ y: x })),
      setup: () => {
        throw new Error('no weights');
      },
    });
    await expect(remote.connect()).rejects.toMatchObject({ message: "setup of model 'Double' failed: no weights" });
    expect(await index(server.http)).toEqual([]);
    await using _other = await connectRemote(server, bindDouble);
    expect(await statusOf(server.http, 'models/Double/ready')).toBe(200);
  });

  it('is refused without the right token, and where the option is off', async () => {
    await using server = await startServer(() => undefined, config);
    await expect(remoteOf(server, { accessToken: 'guess' }).connect()).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: "the access token is not the server's remoteAccessToken",
    });
    await using closed = await startServer(() => undefined, thread);
    await expect(remoteOf(closed).connect()).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: `${closed.grpc} lets no other process bind models: it is not a TSTriton server with the option remoteAccessToken`,
    });
  });
});

describe('another version of the link', () => {
  it('is refused by the server, also where its messages have another form', async () => {
    await using server = await startServer(() => undefined, REMOTE);
    // A version that was never published said hello in JSON.
    const hello = framed(Buffer.from('....{"json":{"kind":"hello","protocol":1,"version":"0.0.9"},"buffers":[]}'));
    const { status } = await rawGrpcCall(server.grpc, '/tstriton.Link/Serve', hello, {
      'tstriton-remote-access-token': REMOTE_TOKEN,
    });
    expect(status).toEqual({
      code: 12,
      message: expect.stringMatching(
        /^the server is TSTriton .* with version \d+ of the link's protocol, got a message/,
      ),
    });
  });

  it.each<[string, (stream: ServerHttp2Stream) => void]>([
    ['does not understand this one', (stream) => failGrpc(stream, 3, 'a message of the link is malformed')],
    ['answers in another form', (stream) => answerGrpc(stream, Buffer.from('....{"json":{"kind":"welcome"}}'))],
  ])('is an error at once where the server %s', async (_, answer) => {
    const fake = createHttp2Server().on('stream', answer);
    await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
    const { port } = fake.address() as AddressInfo;
    const remote = remoteOf({ grpc: `grpc://127.0.0.1:${port}` });
    bindDouble(remote);
    await expect(remote.connect()).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(
        /^grpc:.* speaks another version of the link's protocol than this TSTriton .*: a message of the link is malformed/,
      ),
    });
    await new Promise((resolve) => fake.close(resolve));
  });
});

describe.each([{ serverThread: true }, { serverThread: false }])('a Unix socket of a server with %o', (thread) => {
  it('serves models of other processes beside the port, and is gone when the server stops', async () => {
    const remoteSocket = join(emptyFolder('tstriton-remote-'), 'link');
    // As a killed server leaves it.
    const dead = watchedProcess([
      '-e',
      `require('net').createServer().listen('${remoteSocket}', () => console.log('up'))`,
    ]);
    await dead.wrote('up');
    dead.kill('SIGKILL');
    await dead.ended;
    {
      await using server = await startServer(() => undefined, { ...thread, ...REMOTE, remoteSocket });
      await using first = await connectRemote({ grpc: `unix:${remoteSocket}` }, bindDouble);
      await using _second = await connectRemote({ grpc: `unix://${remoteSocket}` }, bindDouble);
      await using _third = await connectRemote(server, bindAddSub);
      expect(first.isReady).toBe(true);
      expect(inspect(first)).toContain(`unix:${remoteSocket}`);
      await using client = new ModelClient(server.http, double);
      const answers = await Promise.all([1, 2, 3, 4].map((x) => client.inferSample({ x: Int32Array.of(x) })));
      expect(answers.map(({ y }) => y.data[0])).toEqual([2, 4, 6, 8]);
      const taken = startServer(() => undefined, { ...thread, ...REMOTE, remoteSocket });
      await expect(taken).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining(`cannot listen at the remoteSocket ${remoteSocket}`) as string,
      });
      await expect(
        remoteOf({ grpc: `unix:${remoteSocket}` }, { accessToken: 'guess' }).connect(),
      ).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    }
    expect(existsSync(remoteSocket)).toBe(false);
    await expect(remoteOf({ grpc: `unix:${remoteSocket}` }, { timeoutMs: 300 }).connect()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });
});

describe('the option remoteSocket', () => {
  it.each<[TritonConfig, string]>([
    [{ remoteSocket: '/tmp/a' }, 'remoteSocket needs remoteAccessToken'],
    [{ remoteSocket: 'a.sock', ...REMOTE }, 'must be the absolute path of a Unix socket'],
    [{ remoteSocket: `/${'a'.repeat(107)}`, ...REMOTE }, 'of at most 107 bytes'],
  ])('is refused with %o', (options, message) => {
    expect(() => new Triton(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining(message) }),
    );
  });
});

describe('the option remoteAccessToken', () => {
  it.each<[TritonConfig, string]>([
    [{ allowGrpc: false }, 'got allowGrpc: false'],
    [{ remoteAccessToken: '' }, 'remoteAccessToken must be a non-empty string'],
  ])('is refused with %o', (more, message) => {
    expect(() => new Triton({ remoteAccessToken: 't', ...more })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining(message) }),
    );
  });
});

describe('a remote server that is not there', () => {
  it('is waited for, until the deadline', async () => {
    const remote = new RemoteTriton('grpc://127.0.0.1:1', {
      accessToken: REMOTE_TOKEN,
      timeoutMs: 300,
      logger: SILENT,
    });
    bindDouble(remote);
    await expect(remote.connect()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'grpc://127.0.0.1:1 is not available: connection refused',
    });
  });

  it('is an error within the deadline when its port says nothing', async () => {
    const silent = createServer((socket) => void socket.resume().on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const remote = new RemoteTriton(`127.0.0.1:${port}`, { accessToken: REMOTE_TOKEN, timeoutMs: 200, logger: SILENT });
    await expect(remote.connect()).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringMatching(/^grpc:\/\/127\.0\.0\.1:\d+ did not answer as a TSTriton server within \d+ ms$/),
    });
    await new Promise((resolve) => silent.close(resolve));
  });

  it('is the error of the last attempt that had time for one', async () => {
    let connections = 0;
    const other = createServer((socket) => {
      socket.resume().on('error', () => undefined);
      if (connections++ === 0) socket.end('SSH-2.0-OpenSSH_9.2\r\n');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const remote = remoteOf({ grpc: `127.0.0.1:${port}` }, { timeoutMs: 3000 });
    await expect(remote.connect()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('does not answer in gRPC'),
    });
    expect(connections).toBe(2);
    await new Promise((resolve) => other.close(resolve));
  });

  it.each<[string, unknown, string]>([
    ['http://localhost:8000', { accessToken: 't' }, "needs the server's gRPC port"],
    ['grpc://localhost:8001/x', { accessToken: 't' }, 'gRPC has no paths'],
    ['localhost', {}, 'accessToken of RemoteTriton must be'],
    ['localhost', { accessToken: '' }, 'accessToken of RemoteTriton must be'],
    ['localhost', { accessToken: 't', tls: {} }, 'needs grpcs://'],
    ['localhost', { accessToken: 't', tls: () => ({}) }, 'needs grpcs://'],
    ['grpcs://localhost', { accessToken: 't', tls: 'ca.pem' }, 'options.tls of RemoteTriton must be an object'],
    ['grpcs://localhost', { accessToken: 't', tls: { ca: 'ca.pem' } }, 'got: what may be its path: readFileSync('],
    ['localhost', { accessToken: 't', timeoutMs: 0 }, 'timeoutMs of RemoteTriton must be'],
    ['localhost', { accesstoken: 't' }, "did you mean 'accessToken'?"],
  ])('is refused as %s with %o', (url, options, message) => {
    expect(() => new RemoteTriton(url, options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining(message) }),
    );
  });
});
