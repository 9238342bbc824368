import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import type { ResponseSink } from '../../core/response-sink.js';
import { InferenceStatistics } from '../../core/scheduler/statistics.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { ModelInferRequest } from '../../model/exchange.js';
import type { PacedWork } from '../../pacing/paced-work.js';
import { startPaced } from '../../pacing/paced-workers.js';
import type { ServedCore } from '../served-core.js';
import { HttpFrontend, type HttpFrontendOptions } from './http-frontend.js';
import { HttpService, type HttpServiceOptions } from './http-service.js';

const tensorSpec = (name: string): CompleteTensorSpec => ({
  name,
  dtype: 'float32',
  datatype: 'FP32',
  shape: [-1],
  optional: false,
});
const MODEL: CompleteModelConfig = {
  name: 'm',
  version: 1,
  inputs: [tensorSpec('x')],
  outputs: [tensorSpec('y')],
  maxBatchSize: 8,
  dynamicBatching: undefined,
  instanceCount: 1,
  concurrency: 1,
  decoupled: false,
  responseCache: false,
  strict: false,
};

interface Waiting {
  readonly request: ModelInferRequest;
  readonly sink: ResponseSink;
  cancelled: boolean;
}

/** Stands for the core: models `m` (identity), `slow` (answers when told to), `stream` (decoupled), `broken` (throws). */
class FakeCore {
  readonly name = 'triton';
  readonly version = '1.2.3';
  readonly extensions = ['statistics'];
  readonly routes = new Map();
  live = true;
  exiting = false;
  readonly waiting: Waiting[] = [];
  #arrived: (() => void) | undefined;

  isReady(): boolean {
    return this.live;
  }

  isModelReady(name: string): boolean {
    return name === 'm';
  }

  modelConfig(name: string, version: string): CompleteModelConfig {
    if (name === 'broken') throw new RangeError('a bug');
    if (!['m', 'slow', 'stream'].includes(name))
      throw new TritonError('NOT_FOUND', `Request for unknown model: '${name}' is not found`);
    if (version !== '' && version !== '1')
      throw new TritonError('NOT_FOUND', `Request for unknown model: '${name}' version ${version} is not found`);
    return { ...MODEL, name, decoupled: name === 'stream' };
  }

  resolve(name: string, version: string) {
    return { config: this.modelConfig(name, version), load: 1, isServed: true };
  }

  modelMetadata(name: string, version: string) {
    return { config: this.modelConfig(name, version), versions: ['1'] };
  }

  statistics(name: string) {
    const statistics = new InferenceStatistics();
    if (name !== '') statistics.recordExecution(2, { computeInput: 1, computeInfer: 2, computeOutput: 3 });
    return [statistics.report(name || 'm', '1')];
  }

  infer(request: ModelInferRequest, sink: ResponseSink) {
    const waiting: Waiting = { request, sink, cancelled: false };
    if (request.modelName === 'slow') {
      this.waiting.push(waiting);
      this.#arrived?.();
    } else {
      respond(waiting);
    }
    return { cancel: () => ((waiting.cancelled = true), this.#arrived?.()) };
  }

  /** Resolves when so many requests are waiting, or when one was cancelled. */
  async arrived(count: number): Promise<void> {
    while (this.waiting.length < count && !this.waiting.some(({ cancelled }) => cancelled)) {
      await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
  }

  async cancelled(): Promise<void> {
    while (!this.waiting.some(({ cancelled }) => cancelled))
      await new Promise<void>((resolve) => (this.#arrived = resolve));
  }
}

function respond({ request, sink }: Waiting): void {
  const outputs = request.inputs.map((input) => ({ ...input, name: 'y' }));
  const response = { modelName: request.modelName, modelVersion: '1', id: request.id, parameters: undefined, outputs };
  void sink.respond(response, true);
}

interface Started {
  readonly core: FakeCore;
  readonly frontend: HttpFrontend;
  readonly port: number;
  readonly errors: string[];
  connect(): Promise<Client>;
}

function fail(message: unknown): never {
  throw new Error(`nothing should be logged, got ${String(message)}`);
}

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const resource of open.splice(0).reverse()) await resource.close();
});

function openPort({
  address,
  port,
  logger,
  maxInputSize = 1 << 26,
  ...options
}: Omit<HttpServiceOptions, 'maxInputSize'> & HttpFrontendOptions & { readonly maxInputSize?: number }): HttpFrontend {
  return new HttpFrontend(new HttpService({ ...options, maxInputSize }), { address, port, logger });
}

async function start(maxInputSize?: number): Promise<Started> {
  const core = new FakeCore();
  const errors: string[] = [];
  const nothing = () => undefined;
  const logger = { error: (message: string) => errors.push(message), warn: nothing, info: nothing, verbose: nothing };
  const server = core as unknown as ServedCore;
  const frontend = openPort({
    server,
    address: '127.0.0.1',
    port: 0,
    logger,
    ...(maxInputSize === undefined ? {} : { maxInputSize }),
  });
  const port = await frontend.start();
  open.push(frontend);
  return { core, frontend, port, errors, connect: () => Client.connect(port) };
}

interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A raw connection: bytes out, answers in. */
class Client {
  readonly socket: Socket;
  closed = false;
  #received = Buffer.alloc(0);
  #changed: (() => void) | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    const changed = () => this.#changed?.();
    socket.on('data', (piece) => ((this.#received = Buffer.concat([this.#received, piece])), changed()));
    socket.on('error', () => undefined);
    socket.on('close', () => ((this.closed = true), changed()));
  }

  static async connect(port: number): Promise<Client> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const client = new Client(socket);
    open.push({ close: () => client.close() });
    return client;
  }

  async close(): Promise<void> {
    this.socket.destroy();
    await this.ended();
  }

  async ended(): Promise<void> {
    while (!this.closed) await new Promise<void>((resolve) => (this.#changed = resolve));
  }

  send(text: string | Uint8Array): this {
    this.socket.write(text);
    return this;
  }

  /** The next answer, which must have a length. */
  async answer({ head = false } = {}): Promise<Answer> {
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n');
      if (end >= 0) {
        const [first, ...lines] = this.#received.subarray(0, end).toString('latin1').split('\r\n');
        const headers = new Map(
          lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
        );
        const status = Number(first!.split(' ')[1]);
        const length = head || status < 200 ? 0 : Number(headers.get('content-length'));
        if (this.#received.length >= end + 4 + length) {
          const body = this.#received.subarray(end + 4, end + 4 + length).toString('latin1');
          this.#received = this.#received.subarray(end + 4 + length);
          return { status, headers, body };
        }
      }
      if (this.closed)
        throw new Error(`the connection closed after ${JSON.stringify(this.#received.toString('latin1'))}`);
      await new Promise<void>((resolve) => (this.#changed = resolve));
    }
  }

  /** What came beyond the answers that were read. */
  get rest(): string {
    return this.#received.toString('latin1');
  }
}

const get = (path: string, method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
const post = (path: string, body: string | Uint8Array, headers = '') =>
  Buffer.concat([
    Buffer.from(`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n${headers}\r\n`),
    Buffer.from(body),
  ]);
const inferBody = (data = '[1]', id = '') =>
  `{"id":"${id}","inputs":[{"name":"x","datatype":"FP32","shape":[1,1],"data":${data}}]}`;
const infer = (model: string, id = '') => post(`/v2/models/${model}/infer`, inferBody('[1]', id));
const answerOf = (model: string, id = '') =>
  `{${id && `"id":"${id}",`}"model_name":"${model}","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,1],"data":[1.0]}]}`;

const FP16_BODY = '{"inputs":[{"name":"x","datatype":"FP16","shape":[1,1],"parameters":{"binary_data_size":2}}]}';

describe('endpoints', () => {
  it.each<[string, number, string]>([
    ['/v2', 200, '{"name":"triton","version":"1.2.3","extensions":["statistics"]}'],
    ['/v2/health/live', 200, ''],
    ['/v2/health/ready', 200, ''],
    ['/v2/models/m/ready', 200, ''],
    ['/v2/models/slow/ready', 400, '{"error":"Model version not ready"}'],
    [
      '/v2/models/m/versions/1',
      200,
      '{"name":"m","versions":["1"],"platform":"tstriton","inputs":[{"name":"x","datatype":"FP32","shape":[-1,-1]}],"outputs":[{"name":"y","datatype":"FP32","shape":[-1,-1]}]}',
    ],
    ['/v2/models/nope', 404, `{"error":"Request for unknown model: 'nope' is not found"}`],
    ['/v2/models/nope/config', 404, `{"error":"Request for unknown model: 'nope' is not found"}`],
    ['/v2/nope', 404, '{"error":"Not Found"}'],
  ])('GET %s: %d', async (path, status, body) => {
    const client = await (await start()).connect();
    const answer = await client.send(get(path)).answer();
    expect([answer.status, answer.body]).toEqual([status, body]);
    expect(answer.headers.get('content-type')).toBe(body === '' ? 'text/plain' : 'application/json');
    expect(answer.headers.get('content-length')).toBe(String(body.length));
  });

  it('tell configuration and statistics', async () => {
    const client = await (await start()).connect();
    expect(JSON.parse((await client.send(get('/v2/models/m/config')).answer()).body)).toMatchObject({
      name: 'm',
      max_batch_size: 8,
    });
    const { body } = await client.send(get('/v2/models/stats')).answer();
    const zero = '{"count":0,"ns":0}';
    expect(body).toBe(
      '{"model_stats":[{"name":"m","version":"1","last_inference":0,"inference_count":0,"execution_count":0,"inference_stats":{' +
        `"success":${zero},"fail":${zero},"queue":${zero},"compute_input":${zero},"compute_infer":${zero},"compute_output":${zero},` +
        `"cache_hit":${zero},"cache_miss":${zero}},"response_stats":{},"batch_stats":[],"memory_usage":[]}]}`,
    );
    const one = (ns: number) => ({ count: 1, ns });
    expect(JSON.parse((await client.send(get('/v2/models/m/stats')).answer()).body).model_stats[0].batch_stats).toEqual(
      [{ batch_size: 2, compute_input: one(1e6), compute_infer: one(2e6), compute_output: one(3e6) }],
    );
  });

  it.each([
    ['POST', '/v2', 'GET'],
    ['GET', '/v2/models/m/infer', 'POST'],
    ['OPTIONS', '/v2/health/live', 'GET'],
    ['DELETE', '/v2/models/m', 'GET'],
    ['GET', '/v2/repository/index', 'POST'],
  ])('refuse %s %s', async (method, path, allowed) => {
    const client = await (await start()).connect();
    const answer = await client.send(get(path, method)).answer();
    expect([answer.status, answer.body, answer.headers.get('allow')]).toEqual([
      405,
      '{"error":"Method Not Allowed"}',
      allowed,
    ]);
  });

  it('refuse HEAD without a body', async () => {
    const client = await (await start()).connect();
    expect((await client.send(get('/v2', 'HEAD')).answer({ head: true })).status).toBe(405);
    expect((await client.send(get('/v2')).answer()).status).toBe(200);
  });

  it('report a server that is not live, and one that is exiting', async () => {
    const { core, connect: connectTo } = await start();
    const client = await connectTo();
    core.live = false;
    expect(await client.send(get('/v2/health/live')).answer()).toMatchObject({ status: 400, body: '' });
    core.exiting = true;
    expect(await client.send(get('/v2/health/ready')).answer()).toMatchObject({
      status: 503,
      body: '{"error":"Server exiting"}',
    });
  });

  it('survive a bug, which is logged with its stack and told by its message', async () => {
    const { connect: connectTo, errors } = await start();
    const client = await connectTo();
    expect(await client.send(get('/v2/models/broken/config')).answer()).toMatchObject({
      status: 500,
      body: '{"error":"a bug"}',
    });
    expect(errors.join()).toContain('http-service.test');
    expect((await client.send(get('/v2')).answer()).status).toBe(200);
  });
});

describe('inference', () => {
  it('in JSON', async () => {
    const client = await (await start()).connect();
    const answer = await client.send(infer('m', 'one')).answer();
    expect([answer.status, answer.body]).toEqual([200, answerOf('m', 'one')]);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.has('inference-header-content-length')).toBe(false);
  });

  it.each([1, 5000, 1_000_000])('of %d floats in binary, both ways', async (count) => {
    const client = await (await start()).connect();
    const values = Float32Array.from({ length: count }, (_, i) => i);
    const data = Buffer.from(values.buffer);
    const json = `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,${count}],"parameters":{"binary_data_size":${data.length}}}],"parameters":{"binary_data_output":true}}`;
    const body = Buffer.concat([Buffer.from(json), data]);
    const answer = await client
      .send(post('/v2/models/m/infer', body, `Inference-Header-Content-Length: ${json.length}\r\n`))
      .answer();
    const head = `{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,${count}],"parameters":{"binary_data_size":${data.length}}}]}`;
    expect(answer.headers.get('inference-header-content-length')).toBe(String(head.length));
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.body.slice(0, head.length)).toBe(head);
    expect(Buffer.from(answer.body.slice(head.length), 'latin1').equals(data)).toBe(true);
  });

  it.each<[string, Uint8Array, number, string]>([
    [
      'malformed JSON',
      post('/v2/models/m/infer', '{'),
      400,
      'failed to parse the request JSON buffer: Missing a name for object member. at 1',
    ],
    [
      'an unknown model, whatever the body',
      post('/v2/models/nope/infer', '{'),
      404,
      "Request for unknown model: 'nope' is not found",
    ],
    [
      'an unknown version',
      post('/v2/models/m/versions/2/infer', '{'),
      404,
      "Request for unknown model: 'm' version 2 is not found",
    ],
    [
      'a decoupled model',
      post('/v2/models/stream/infer', '{'),
      501,
      "HTTP end point doesn't support models with decoupled transaction policy",
    ],
    [
      'a bad length header',
      post('/v2/models/m/infer', '{}', 'Inference-Header-Content-Length: x\r\n'),
      400,
      'Unable to parse Inference-Header-Content-Length, got: x',
    ],
    [
      'a body of an unknown coding',
      post('/v2/models/m/infer', '{}', 'Content-Encoding: br\r\n'),
      501,
      'Unsupported compression type',
    ],
    [
      'an answer that has no JSON form',
      post('/v2/models/m/infer', `${FP16_BODY}\0\0`, `Inference-Header-Content-Length: ${FP16_BODY.length}\r\n`),
      400,
      'sending FP16 data via JSON is not supported. Please use the binary data format for output',
    ],
  ])('is refused for %s, and the connection stays usable', async (_, request, status, reason) => {
    const client = await (await start()).connect();
    expect(await client.send(request).answer()).toMatchObject({ status, body: JSON.stringify({ error: reason }) });
    expect(await client.send(infer('m')).answer()).toMatchObject({ status: 200, body: answerOf('m') });
  });

  it('says what the core refuses', async () => {
    const { core, connect: connectTo } = await start();
    const client = await connectTo();
    client.send(infer('slow'));
    await core.arrived(1);
    core.waiting[0]!.sink.fail(new TritonError('UNAVAILABLE', 'Exceeds maximum queue size'));
    expect(await client.answer()).toMatchObject({ status: 503, body: '{"error":"Exceeds maximum queue size"}' });
    client.send(infer('slow'));
    await core.arrived(2);
    core.waiting[1]!.sink.complete();
    expect(await client.answer()).toMatchObject({
      status: 500,
      body: '{"error":"expected a single response, got 0"}',
    });
  });

  it.each([
    ['identity', 200],
    ['', 501],
    ['br', 501],
    ['GZIP', 501],
  ])('with Content-Encoding %j: %d', async (encoding, status) => {
    const client = await (await start()).connect();
    expect(
      (await client.send(post('/v2/models/m/infer', inferBody(), `Content-Encoding: ${encoding}\r\n`)).answer()).status,
    ).toBe(status);
  });

  it('of a body that is too large is refused before it is read', async () => {
    const client = await (await start(100)).connect();
    client.send('POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n');
    expect(await client.answer()).toMatchObject({
      status: 400,
      body: '{"error":"request JSON size of 101 bytes exceeds the maximum allowed input size of 100 bytes. Use --http-max-input-size to increase the limit."}',
    });
    client.send('x'.repeat(101));
    expect((await client.send(infer('m')).answer()).status).toBe(200);
  });

  it('of a chunked body that is too large is refused when it is', async () => {
    const client = await (await start(100)).connect();
    client.send(
      'POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n' + 'x'.repeat(101),
    );
    const answer = await client.answer();
    expect(answer).toMatchObject({
      status: 400,
      body: '{"error":"request size of more than 100 bytes exceeds the maximum allowed input size of 100 bytes"}',
    });
    expect(answer.headers.get('connection')).toBe('close');
    await client.ended();
  });

  it('of more than two gigabytes is refused', async () => {
    const client = await (await start()).connect();
    client.send(
      'POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 2147483649\r\nInference-Header-Content-Length: 10\r\n\r\n',
    );
    expect(await client.answer()).toMatchObject({
      status: 400,
      body: '{"error":"request size of 2147483649 bytes exceeds the maximum allowed input size of 2147483648 bytes"}',
    });
    await client.ended();
  });
});

describe('the connection', () => {
  it('takes a request in any pieces', async () => {
    const { connect: connectTo } = await start();
    const client = await connectTo();
    client.socket.setNoDelay(true);
    for (const byte of infer('m')) {
      client.send(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await client.answer()).toMatchObject({ status: 200, body: answerOf('m') });
  });

  it('takes chunked bodies', async () => {
    const client = await (await start()).connect();
    const body = inferBody();
    const chunks = [body.slice(0, 7), body.slice(7, 20), body.slice(20)].map(
      (piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`,
    );
    client.send(
      `POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`,
    );
    expect(await client.answer()).toMatchObject({ status: 200, body: answerOf('m') });
  });

  it('answers pipelined requests in their order, whichever is ready first', async () => {
    const { core, connect: connectTo } = await start();
    const client = await connectTo();
    client.send(
      Buffer.concat([infer('slow', 'a'), infer('slow', 'b'), Buffer.from(get('/v2/health/live')), infer('m', 'c')]),
    );
    await core.arrived(2);
    respond(core.waiting[1]!);
    respond(core.waiting[0]!);
    expect((await client.answer()).body).toBe(answerOf('slow', 'a'));
    expect((await client.answer()).body).toBe(answerOf('slow', 'b'));
    expect((await client.answer()).body).toBe('');
    expect((await client.answer()).body).toBe(answerOf('m', 'c'));
  });

  it('says 100 Continue to those who wait for it', async () => {
    const client = await (await start()).connect();
    const body = inferBody();
    client.send(
      `POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    expect((await client.answer()).status).toBe(100);
    expect((await client.send(body).answer()).status).toBe(200);
  });

  it('closes when the client asks for it', async () => {
    const client = await (await start()).connect();
    client.send('GET /v2/health/live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
    expect((await client.answer()).headers.get('connection')).toBe('close');
    await client.ended();
  });

  it('cancels what is under way when the client hangs up', async () => {
    const { core, connect: connectTo } = await start();
    const client = await connectTo();
    client.send(Buffer.concat([infer('slow'), infer('slow')]));
    await core.arrived(2);
    await client.close();
    await core.cancelled();
    expect(core.waiting.map(({ cancelled }) => cancelled)).toEqual([true, true]);
    // The core ends the sink of a cancelled request too, one way or the other.
    core.waiting[0]!.sink.fail(new TritonError('CANCELLED', ''));
    respond(core.waiting[1]!);
    expect((await (await connectTo()).send(get('/v2')).answer()).status).toBe(200);
  });

  it('cancels nothing that has been answered', async () => {
    const { core, connect: connectTo } = await start();
    const client = await connectTo();
    client.send(infer('slow'));
    await core.arrived(1);
    respond(core.waiting[0]!);
    await client.answer();
    client.send(infer('slow'));
    await core.arrived(2);
    await client.close();
    await core.cancelled();
    expect(core.waiting.map(({ cancelled }) => cancelled)).toEqual([false, true]);
  });

  it('may break in the middle of an upload, and the server lives on', async () => {
    const { core, connect: connectTo } = await start();
    const client = await connectTo();
    client.send('POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n{"inp');
    client.send('x'.repeat(1000));
    await new Promise((resolve) => setImmediate(resolve));
    await client.close();
    const other = await connectTo();
    expect((await other.send(infer('m')).answer()).status).toBe(200);
    expect(core.waiting).toEqual([]);
  });
});

describe('what is no HTTP', () => {
  it.each<[string, string, number]>([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['a method in lower case', 'get /v2 HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['a missing Host', 'GET /v2 HTTP/1.1\r\n\r\n', 400],
    [
      'two lengths',
      'POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
    ],
    [
      'length and chunks',
      'POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    ['a negative length', 'POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n', 400],
    ['a header that is too large', `GET /v2 HTTP/1.1\r\nHost: h\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ])('%s is refused and the connection closes', async (_, request, status) => {
    const client = await (await start()).connect();
    client.send(request);
    while (!client.rest.includes('\r\n\r\n')) await once(client.socket, 'data');
    expect(client.rest).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    await client.ended();
  });

  it('behind a good request does not cost that its answer, and is told behind it', async () => {
    const { core, connect: connectTo } = await start();
    const client = await connectTo();
    client.send(Buffer.concat([infer('slow', 'a'), Buffer.from('garbage\r\n\r\n')]));
    await core.arrived(1);
    respond(core.waiting[0]!);
    expect((await client.answer()).body).toBe(answerOf('slow', 'a'));
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([400, 'close']);
    expect(answer.body).toContain('malformed HTTP request');
    await client.ended();
    expect(client.rest).toBe('');
  });

  it('in a chunked body is told to the sender', async () => {
    const client = await (await start()).connect();
    client.send('POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([400, 'close']);
    expect(answer.body).toContain('malformed HTTP request');
    await client.ended();
  });
});

describe('the end', () => {
  it('drains: answers what is under way with Connection: close, closes the rest, takes nothing new', async () => {
    const { core, frontend, port, connect: connectTo } = await start();
    const [busy, idle, fresh] = [await connectTo(), await connectTo(), await connectTo()];
    await idle.send(get('/v2')).answer();
    busy.send(infer('slow', 'a'));
    await core.arrived(1);
    frontend.drain();
    await Promise.all([idle.ended(), fresh.ended()]);
    respond(core.waiting[0]!);
    const answer = await busy.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    await busy.ended();
    await frontend.close();
    const refused = connect(port, '127.0.0.1');
    await expect(once(refused, 'connect')).rejects.toThrow('ECONNREFUSED');
  });

  it('drains a connection whose last request was answered before an earlier one', async () => {
    const { core, frontend, connect: connectTo } = await start();
    const client = await connectTo();
    client.send(Buffer.concat([infer('slow', 'a'), infer('slow', 'b')]));
    await core.arrived(2);
    respond(core.waiting[1]!);
    frontend.drain();
    respond(core.waiting[0]!);
    expect((await client.answer()).body).toBe(answerOf('slow', 'a'));
    expect((await client.answer()).body).toBe(answerOf('slow', 'b'));
    await client.ended();
  });

  it('closes what is left, cancelling it, and may do so twice', async () => {
    const { core, frontend, connect: connectTo } = await start();
    const client = await connectTo();
    client.send(infer('slow'));
    await core.arrived(1);
    await frontend.close();
    await client.ended();
    await core.cancelled();
    await frontend.close();
    expect(client.rest).toBe('');
  });

  it('does not wait for the paced work of others in this thread', async () => {
    const { frontend } = await start();
    const endless = startPaced(
      (function* (): PacedWork<void> {
        for (;;) yield;
      })(),
      { done: () => fail('its end'), failed: fail },
    );
    await expect(frontend.close()).resolves.toBeUndefined();
    endless!.cancel();
  });

  it('of a frontend that never started is at once', async () => {
    const logger = { error: fail, warn: fail, info: fail, verbose: fail };
    const frontend = openPort({
      server: new FakeCore() as unknown as ServedCore,
      address: '127.0.0.1',
      port: 0,
      logger,
    });
    await expect(frontend.close()).resolves.toBeUndefined();
  });
});

it('names address and port when they are taken', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  open.push({ close: () => new Promise((resolve) => holder.close(resolve)) });
  const { port } = holder.address() as AddressInfo;
  const logger = { error: fail, warn: fail, info: fail, verbose: fail };
  const frontend = openPort({
    server: new FakeCore() as unknown as ServedCore,
    address: '127.0.0.1',
    port,
    logger,
  });
  await expect(frontend.start()).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: `Socket '127.0.0.1:${port}' already in use`,
  });
  await frontend.close();
});
