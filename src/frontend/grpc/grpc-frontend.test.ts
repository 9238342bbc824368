// The gRPC port against @grpc/grpc-js, with a core that does what each test needs.

import {
  credentials,
  loadPackageDefinition,
  Metadata,
  status,
  type CallOptions,
  type Client,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { once } from 'node:events';
import { connect as connectSocket, createServer, type AddressInfo, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { controlledCore } from '../../../test/support/controlled-core.js';
import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferRequest } from '../../model/exchange.js';
import type { OpenHttp2Port } from '../../http2/http2-port.js';
import { Http2Server } from '../../http2/http2-server.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { DEFAULT_KEEPALIVE } from './connection-keepalive.js';
import { GrpcFrontend, type GrpcFrontendOptions } from './grpc-frontend.js';
import type { ServedCore } from '../served-core.js';

const PROTO_FOLDER = fileURLToPath(new URL('../../../proto', import.meta.url));
const definition = loadSync(['grpc_service.proto', 'health.proto'], {
  includeDirs: [PROTO_FOLDER],
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
});
const packages = loadPackageDefinition(definition) as any;

const config: CompleteModelConfig = {
  name: 'm',
  version: 1,
  inputs: [{ name: 'x', dtype: 'float32', datatype: 'FP32', shape: [-1], optional: false }],
  outputs: [{ name: 'y', dtype: 'float32', datatype: 'FP32', shape: [-1, 4], optional: false }],
  maxBatchSize: 8,
  dynamicBatching: undefined,
  instanceCount: 1,
  concurrency: 1,
  decoupled: false,
  responseCache: false,
  strict: false,
};

const ignore = () => undefined;
const logger = { error: ignore, warn: ignore, info: ignore, verbose: ignore };
/** A core with one model `m` that gives its inputs back. */
function fakeCore(changes: Partial<ServedCore> = {}): ServedCore {
  const find = (name: string): CompleteModelConfig => {
    if (name === 'm') return config;
    if (name === 'decoupled') return { ...config, decoupled: true };
    throw new TritonError('NOT_FOUND', `Request for unknown model: '${name}' is not found`);
  };
  return {
    name: 'triton',
    version: '1.2.3',
    extensions: ['statistics'],
    routes: new Map(),
    exiting: false,
    isReady: () => true,
    isModelReady: (name) => name === 'm',
    live: true,
    resolve: (name) => ({ config: find(name), load: 1, isServed: true }),
    modelMetadata: (name) => ({ config: find(name), versions: ['1', '3'] }),
    statistics: () => [],
    ...controlledCore(),
    traces: false,
    refused: () => undefined,
    onStateChange: () => () => undefined,
    infer(request, sink) {
      void sink.respond(identity(request), true);
      return { cancel: () => undefined };
    },
    ...changes,
  };
}

function identity({ modelName, id, parameters, inputs }: ModelInferRequest) {
  return { modelName, modelVersion: '1', id, parameters, outputs: inputs.map((input) => ({ ...input, name: 'y' })) };
}

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of cleanup.splice(0).reverse()) await close();
});

async function start(
  core: ServedCore,
  maxMessageSize = 2 ** 31 - 1,
  channelOptions: object = {},
  more: Partial<GrpcFrontendOptions> = {},
) {
  const place = { address: '127.0.0.1', port: 0 };
  const openPort: OpenHttp2Port = (options) => new Http2Server(options);
  const frontend = new GrpcFrontend({ server: core, ...place, maxMessageSize, logger, openPort, ...more });
  cleanup.push(() => frontend.close());
  const { port, pings, cut } = await relay(await frontend.start());
  const address = `127.0.0.1:${port}`;
  const options = {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
    ...channelOptions,
  };
  const service = new packages.inference.GRPCInferenceService(address, credentials.createInsecure(), options);
  const health = new packages.grpc.health.v1.Health(address, credentials.createInsecure(), options);
  cleanup.push(
    () => (service as Client).close(),
    () => (health as Client).close(),
  );
  const callOf = (client: any, method: string, request: unknown, callOptions: CallOptions = {}): Promise<any> =>
    new Promise((resolve, reject) => {
      client[method](request, new Metadata(), callOptions, (error: ServiceError | null, response: unknown) => {
        if (error === null) resolve(response);
        else reject(error);
      });
    });
  return {
    frontend,
    service,
    unary: (method: string, request: unknown = {}, callOptions?: CallOptions) =>
      callOf(service, method, request, callOptions),
    check: (request: unknown = {}) => callOf(health, 'Check', request),
    pings,
    cut,
  };
}

/** A way to the port that counts the client's pings and can be cut. */
async function relay(target: number) {
  let count = 0;
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connectSocket(target, '127.0.0.1');
    clients.add(client);
    // A ping is a frame of 17 bytes, its type in the fourth; between calls nothing else is in its packet.
    client.on('data', (chunk) => void (count += chunk.length === 17 && chunk[3] === 6 ? 1 : 0));
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.push(() => server.close());
  return {
    port: (server.address() as AddressInfo).port,
    pings: () => count,
    cut() {
      for (const client of clients) client.destroy();
    },
  };
}

const inferRequest = (values: readonly number[], more: object = {}) => ({
  model_name: 'm',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, values.length] }],
  raw_input_contents: [Buffer.from(Float32Array.from(values).buffer)],
  ...more,
});

/** A core whose requests wait, with what happened to them. */
function waitingCore() {
  const sinks: ResponseSink[] = [];
  const cancel = vi.fn<(sink: ResponseSink) => void>((sink) => sink.fail(new TritonError('CANCELLED', '')));
  let arrived!: () => void;
  const whenArrived = new Promise<void>((resolve) => (arrived = resolve));
  let cancelled!: () => void;
  const whenCancelled = new Promise<void>((resolve) => (cancelled = resolve));
  const core = fakeCore({
    infer(_, sink) {
      sinks.push(sink);
      arrived();
      return {
        cancel() {
          cancel(sink);
          cancelled();
        },
      };
    },
  });
  return { core, sinks, cancel, whenArrived, whenCancelled };
}

describe('the methods beside ModelInfer', () => {
  it('answer with what the core says', async () => {
    const { unary, check } = await start(fakeCore());
    expect(await unary('ServerLive')).toEqual({ live: true });
    expect(await unary('ServerMetadata')).toEqual({ name: 'triton', version: '1.2.3', extensions: ['statistics'] });
    expect(await unary('ModelReady', { name: 'nosuch' })).toEqual({ ready: false });
    expect(await unary('ModelMetadata', { name: 'm' })).toMatchObject({ inputs: [{ name: 'x', shape: [-1, -1] }] });
    expect((await unary('ModelConfig', { name: 'm' })).config).toMatchObject({ name: 'm', max_batch_size: 8 });
    expect(await unary('ModelStatistics')).toEqual({ model_stats: [] });
    expect(await check({ service: 'anything' })).toEqual({ status: 'SERVING' });
  });

  it('answer with what is wrong', async () => {
    const { unary } = await start(fakeCore());
    const details = "Request for unknown model: 'nosuch' is not found";
    await expect(unary('ModelConfig', { name: 'nosuch' })).rejects.toMatchObject({ code: status.NOT_FOUND, details });
    await expect(unary('RepositoryModelLoad', { model_name: 'm' })).rejects.toMatchObject({
      code: 14,
      details: 'explicit model load / unload is not allowed if polling is enabled',
    });
  });

  it('are the only ones', async () => {
    const { service } = await start(fakeCore());
    const bytes = (value: Buffer) => value;
    const failed = new Promise<ServiceError | null>((resolve) =>
      (service as Client).makeUnaryRequest(
        '/inference.GRPCInferenceService/Nope',
        bytes,
        bytes,
        Buffer.alloc(0),
        resolve,
      ),
    );
    expect(await failed).toMatchObject({ code: status.UNIMPLEMENTED });
  });
});

describe('ModelInfer', () => {
  it('gives the answer of the core', async () => {
    const { unary } = await start(fakeCore());
    const parameters = { p: { string_param: 'v' }, i: { int64_param: 5 } };
    const response = await unary('ModelInfer', inferRequest([1, 2.5], { id: 'r 1', parameters }));
    expect(response).toMatchObject({ model_name: 'm', model_version: '1', id: 'r 1' });
    expect(response.outputs).toMatchObject([{ name: 'y', datatype: 'FP32', shape: [1, 2] }]);
    expect(response.raw_output_contents).toEqual([Buffer.from(Float32Array.of(1, 2.5).buffer)]);
    expect(response.parameters).toMatchObject({ p: { string_param: 'v' }, i: { int64_param: 5 } });
  });

  it('hands the core everything that was asked', async () => {
    const infer = vi.fn<ServedCore['infer']>((request, sink) => {
      void sink.respond(identity(request), true);
      return { cancel: () => undefined };
    });
    const { unary } = await start(fakeCore({ infer }));
    const parameters = {
      priority: { uint64_param: 3 },
      timeout: { int64_param: 250 },
      temperature: { double_param: 0.5 },
    };
    const inputs = [{ name: 'x', datatype: 'INT8', shape: [1, 2], contents: { int_contents: [1, -1] } }];
    await unary('ModelInfer', { model_name: 'm', model_version: '1', inputs, outputs: [{ name: 'y' }], parameters });
    const request = infer.mock.calls[0]![0];
    expect({
      ...request,
      inputs: request.inputs.map(({ bytes, ...input }) => ({ ...input, bytes: [...bytes] })),
    }).toEqual({
      modelName: 'm',
      modelVersion: '1',
      id: '',
      parameters: { temperature: 0.5 },
      inputs: [{ name: 'x', datatype: 'INT8', shape: [1, 2], bytes: [1, 255] }],
      outputs: ['y'],
      priority: 3,
      timeoutMicroseconds: 250,
    });
  });

  it.each([
    ['UNKNOWN', status.UNKNOWN],
    ['INTERNAL', status.INTERNAL],
    ['NOT_FOUND', status.NOT_FOUND],
    ['INVALID_ARG', status.INVALID_ARGUMENT],
    ['UNAVAILABLE', status.UNAVAILABLE],
    ['UNSUPPORTED', status.UNIMPLEMENTED],
    ['ALREADY_EXISTS', status.ALREADY_EXISTS],
    ['CANCELLED', status.CANCELLED],
  ] as const)('answers an error of code %s with status %i and its text', async (code, expected) => {
    const details = `100 % schlecht:\n  "${code}" 😀 `;
    const { unary } = await start(
      fakeCore({
        infer(_, sink) {
          sink.fail(new TritonError(code, details));
          return { cancel: () => undefined };
        },
      }),
    );
    await expect(unary('ModelInfer', inferRequest([1]))).rejects.toMatchObject({ code: expected, details });
  });

  it('of an unknown model is NOT_FOUND before anything else is wrong', async () => {
    const { unary } = await start(fakeCore());
    const request = { model_name: 'nosuch', inputs: [{ name: 'x' }], parameters: { triton_x: { bool_param: true } } };
    await expect(unary('ModelInfer', request)).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  it('of a decoupled model is refused, in the words of Triton', async () => {
    const { unary } = await start(fakeCore());
    const details = "ModelInfer RPC doesn't support models with decoupled transaction policy";
    await expect(unary('ModelInfer', { model_name: 'decoupled' })).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details,
    });
  });

  it('takes and gives messages of 20 MB', async () => {
    const { unary } = await start(fakeCore());
    const raw = Buffer.alloc(20 << 20);
    for (let at = 0; at < raw.length; at += 4096) raw.writeUInt32LE(at, at);
    const request = {
      model_name: 'm',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, raw.length / 4] }],
      raw_input_contents: [raw],
    };
    const response = await unary('ModelInfer', request);
    expect(response.raw_output_contents[0].equals(raw)).toBe(true);
  });

  it('refuses a message beyond the configured size, and goes on', async () => {
    const { unary } = await start(fakeCore(), 1000);
    await expect(unary('ModelInfer', inferRequest(Array.from({ length: 1000 }, () => 1)))).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: expect.stringMatching(/^Received message larger than max \(40\d\d vs\. 1000\)$/),
    });
    await expect(unary('ModelInfer', inferRequest([1]))).resolves.toBeDefined();
  });

  it('takes only small messages where no tensors come', async () => {
    const { unary, check } = await start(fakeCore());
    const large = 'm'.repeat(REQUEST_LIMITS.controlBytes);
    const refused = {
      code: status.RESOURCE_EXHAUSTED,
      details: expect.stringMatching(/^Received message larger than max \(10485\d\d vs\. 1048576\)$/),
    };
    await expect(unary('ModelMetadata', { name: large })).rejects.toMatchObject(refused);
    await expect(unary('RepositoryModelUnload', { model_name: large })).rejects.toMatchObject(refused);
    await expect(check({ service: large })).rejects.toMatchObject(refused);
  });

  it('answers what cannot be encoded with the reason', async () => {
    const { unary } = await start(
      fakeCore({
        infer(request, sink) {
          void sink.respond({ ...identity(request), parameters: { big: 2n ** 70n } }, true);
          return { cancel: () => undefined };
        },
      }),
    );
    await expect(unary('ModelInfer', inferRequest([1]))).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("parameter 'big'"),
    });
  });

  it.each([
    ['gzip', 2],
    ['deflate', 1],
  ])('takes messages compressed by %s', async (_, algorithm) => {
    const { unary } = await start(fakeCore(), undefined, { 'grpc.default_compression_algorithm': algorithm });
    const values = Array.from({ length: 100_000 }, (_, i) => i % 7);
    const response = await unary('ModelInfer', inferRequest(values));
    expect(response.raw_output_contents[0]).toEqual(Buffer.from(Float32Array.from(values).buffer));
  });

  it('serves many calls at once on one connection, each with its own answer', async () => {
    const { core, sinks } = waitingCore();
    const requests: ModelInferRequest[] = [];
    const infer: ServedCore['infer'] = (request, sink) => {
      requests.push(request);
      return core.infer(request, sink);
    };
    const { unary } = await start({ ...core, infer });
    const calls = Array.from({ length: 200 }, (_, i) => unary('ModelInfer', inferRequest([i], { id: `r${i}` })));
    await vi.waitFor(() => expect(sinks).toHaveLength(200));
    // The last first.
    for (let i = 199; i >= 0; i--) void sinks[i]!.respond(identity(requests[i]!), true);
    const ids = (await Promise.all(calls)).map((response) => [
      response.id,
      response.raw_output_contents[0].readFloatLE(0),
    ]);
    expect(ids).toEqual(Array.from({ length: 200 }, (_, i) => [`r${i}`, i]));
  });
});

describe('the end of a call before its answer', () => {
  it('a deadline cancels the request in the core', async () => {
    const { core, whenArrived, whenCancelled } = waitingCore();
    const { unary } = await start(core);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const call = unary('ModelInfer', inferRequest([1]), { deadline: Date.now() + 60_000 });
    await whenArrived;
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    await expect(call).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    await whenCancelled;
  });

  it('a cancellation reaches the core', async () => {
    const { core, whenArrived, whenCancelled, cancel } = waitingCore();
    const { service } = await start(core);
    let call!: { cancel(): void };
    const failed = new Promise<ServiceError>((resolve) => (call = service.ModelInfer(inferRequest([1]), resolve)));
    await whenArrived;
    call.cancel();
    expect((await failed).code).toBe(status.CANCELLED);
    await whenCancelled;
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('the loss of the connection cancels all requests on it', async () => {
    const { core, sinks, cancel } = waitingCore();
    const { unary, cut } = await start(core);
    const calls = [unary('ModelInfer', inferRequest([1])), unary('ModelInfer', inferRequest([2]))];
    const settled = Promise.allSettled(calls);
    await vi.waitFor(() => expect(sinks).toHaveLength(2));
    cut();
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledTimes(2));
    await settled;
  });

  it('a request under way is answered while the server drains', async () => {
    const { core, sinks, whenArrived } = waitingCore();
    const { unary, frontend } = await start(core);
    const call = unary('ModelInfer', inferRequest([1]));
    await whenArrived;
    frontend.drain();
    sinks[0]!.fail(new TritonError('UNAVAILABLE', 'Server exiting'));
    const closed = frontend.close();
    await expect(call).rejects.toMatchObject({ code: status.UNAVAILABLE, details: 'Server exiting' });
    await closed;
  });
});

describe('a client that keeps its connection alive', () => {
  const pinging = {
    'grpc.keepalive_time_ms': 20,
    'grpc.keepalive_timeout_ms': 60_000,
    'grpc.keepalive_permit_without_calls': 1,
  };

  it('may ping as often as the server permits', async () => {
    const { core, sinks, whenArrived } = waitingCore();
    const keepalive = { ...DEFAULT_KEEPALIVE, minRecvPingInterval: 10 };
    const { unary, pings } = await start(core, undefined, pinging, { keepalive });
    const call = unary('ModelInfer', inferRequest([1]));
    await whenArrived;
    await vi.waitFor(() => expect(pings()).toBeGreaterThan(8));
    sinks[0]!.fail(new TritonError('NOT_FOUND', 'still there'));
    await expect(call).rejects.toMatchObject({ code: status.NOT_FOUND, details: 'still there' });
  });

  it('loses its connection when it pings too often, as with Triton', async () => {
    const { core, whenArrived, whenCancelled } = waitingCore();
    const { unary } = await start(core, undefined, pinging);
    const call = unary('ModelInfer', inferRequest([1]));
    await whenArrived;
    // What ENHANCE_YOUR_CALM is on the client's side.
    await expect(call).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    await whenCancelled;
  });
});

describe('a restricted protocol', () => {
  const restrictions = [{ categories: ['metadata'], key: 'Admin-Key', value: 'secret' }] as const;

  async function ask(method: string, header?: [name: string, value: string]): Promise<unknown> {
    const { service } = await start(fakeCore(), undefined, undefined, { restrictions });
    const metadata = new Metadata();
    if (header !== undefined) metadata.set(...header);
    return new Promise((resolve, reject) => {
      (service as any)[method]({}, metadata, (error: ServiceError | null, response: unknown) => {
        if (error === null) resolve(response);
        else reject(error);
      });
    });
  }

  it.each<[string, [string, string] | undefined]>([
    ['without its header', undefined],
    ['with another value', ['triton-grpc-protocol-admin-key', 'Secret']],
    ['with the header of HTTP', ['admin-key', 'secret']],
  ])('refuses calls %s', async (_, header) => {
    await expect(ask('ServerMetadata', header)).rejects.toMatchObject({
      code: 14,
      details: "This protocol is restricted, expecting header 'triton-grpc-protocol-Admin-Key'",
    });
  });

  it('takes calls with its header, and calls of other methods', async () => {
    await expect(ask('ServerMetadata', ['triton-grpc-protocol-admin-key', 'secret'])).resolves.toMatchObject({
      name: 'triton',
    });
    await expect(ask('ServerLive')).resolves.toMatchObject({ live: true });
  });
});
