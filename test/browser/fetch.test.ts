// The client built for browsers, over Node's `fetch`, against servers that play what real ones may do.
import { randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

import { defineModel, ModelClient, ServerClient, TritonConnectionError } from 'tstriton/client/browser';

import { answerInfer, readInfer, startHttp, startTcp, type HttpRequest } from '../support/fake-servers.js';
import { startServer } from '../support/start-server.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
const tokens = defineModel({ ...double, modelName: 'Tokens', config: { decoupled: true, batching: false } });
const X = Float32Array.of(1, 2.5);
const cors = { corsAllowOrigin: ['*'], restrictedEndpoints: [] } as const;

function echo(request: HttpRequest, response: ServerResponse): void {
  const { json, blobs } = readInfer(request);
  answerInfer(response, [{ name: 'y', datatype: 'FP32', shape: json.inputs[0]!.shape, bytes: blobs[0]! }]);
}

async function collect<T>(answers: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const answer of answers) list.push(answer);
  return list;
}

describe('the client for browsers', () => {
  it('sends binary tensors with their lengths, of any kind of memory, and reads them', async () => {
    const seen: HttpRequest[] = [];
    await using server = await startHttp((request, response) => {
      seen.push(request);
      echo(request, response);
    });
    await using client = new ModelClient(`http://${server.authority}/prefix`, double, { headers: { 'X-A': 'b' } });
    const shared = new Float32Array(new SharedArrayBuffer(8));
    shared.set(X);
    for (const x of [X, shared, new Float32Array(100_000).fill(3)]) {
      const { y } = await client.inferSample({ x: x as Float32Array }, { requestId: 'é' });
      expect(y!.data).toEqual(Float32Array.from(x));
    }
    expect(seen[0]).toMatchObject({ method: 'POST', path: '/prefix/v2/models/Double/infer' });
    expect(seen[0]!.headers).toMatchObject({ 'x-a': 'b', 'content-type': 'application/octet-stream' });
  });

  it('ends a call that is aborted while its compressed answer comes, whenever that is', async () => {
    let begun: () => void = () => undefined;
    await using server = await startHttp(({ body }, response) => {
      const packed = gzipSync(randomBytes(60_000 + body.length), { level: 1 });
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length });
      response.end(packed);
      begun();
    });
    await using client = new ModelClient(`http://${server.authority}`, double, { retry: false });
    for (let i = 0; i < 100; i++) {
      const controller = new AbortController();
      const answering = new Promise<void>((resolve) => (begun = resolve));
      const x = new Float32Array(i + 1).fill(i);
      const call = client.inferSample({ x }, { signal: controller.signal }).catch((error: unknown) => error);
      await answering;
      for (let turn = 0; turn < i % 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      expect(await call).toBeInstanceOf(Error);
    }
  });

  it('refuses gRPC and certificates, and says why', () => {
    const refusal = (make: () => unknown) => {
      try {
        return make();
      } catch (error) {
        return error;
      }
    };
    expect(refusal(() => new ModelClient('grpc://localhost', double))).toMatchObject({
      code: 'UNSUPPORTED',
      message: "grpc://localhost:8001: fetch cannot carry gRPC; use the server's HTTP port, http:// or https://",
    });
    expect(refusal(() => new ServerClient('https://localhost', { tls: { ca: 'x' } }))).toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('options.tls') as string,
    });
    const client = new ModelClient('localhost', double);
    expect(refusal(() => client.stream({ timeoutMs: 5 }))).toMatchObject({ code: 'UNSUPPORTED' });
    expect(refusal(() => client.sequence({ timeoutMs: 5 }))).toMatchObject({ code: 'UNSUPPORTED' });
  });

  it('tells where the time went, but for connecting, which fetch does not tell', async () => {
    await using server = await startHttp(echo);
    await using client = new ModelClient(`http://${server.authority}`, double);
    const timings: object[] = [];
    for (let i = 0; i < 2; i++) await client.inferSample({ x: [1] }, { onTimings: (each) => timings.push(each) });
    const told = ['attempt', 'waitMs', 'serverMs', 'transferMs'];
    expect(timings.map((each) => Object.keys(each))).toEqual([told, told]);
  });

  it('follows no redirect, which would take the token elsewhere', async () => {
    let asked = 0;
    await using target = await startHttp((request, response) => {
      asked++;
      echo(request, response);
    });
    await using server = await startHttp((request, response) =>
      response.writeHead(307, { location: `http://${target.authority}${request.path}` }).end(),
    );
    await using client = new ModelClient(server.authority, double, { accessToken: 'secret' });
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNKNOWN',
      message: `http://${server.authority} answered with a redirect, which is not followed`,
    });
    expect(asked).toBe(0);
  });

  it('says what is missing where the page may not read the length of the JSON', async () => {
    await using server = await startHttp((_, response) =>
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end('{}xx'),
    );
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('Access-Control-Expose-Headers') as string,
    });
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['before an answer', (response) => void response.socket!.destroy()],
    [
      'within its body',
      (response) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('{', () => response.socket!.destroy());
      },
    ],
  ])('rejects with a TritonConnectionError when the connection is lost %s', async (_, answer) => {
    await using server = await startHttp((_request, response) => answer(response));
    await using client = new ModelClient(server.authority, double);
    await expect(client.inferSample({ x: X })).rejects.toSatisfy(
      (error) => TritonConnectionError.is(error) && error.code === 'UNAVAILABLE' && error.requestSent,
    );
  });

  it('rejects when nobody listens, and when what answers is no HTTP', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => gone.once('listening', resolve));
    const { port } = gone.address() as { port: number };
    await new Promise((resolve) => gone.close(resolve));
    await using client = new ModelClient(`127.0.0.1:${port}`, double);
    await expect(client.inferSample({ x: X })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      requestSent: false,
      message: `http://127.0.0.1:${port} is not available: connection refused`,
    });
    await using garbage = await startTcp((socket) => void socket.end('what?\r\n\r\n'));
    await using other = new ModelClient(garbage.authority, double);
    await expect(other.inferSample({ x: X })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('rejects when a stream is lost between two events, behind those before', async () => {
    await using server = await startHttp((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"model_name":"Tokens","y":[1]}\n\n', () => response.socket!.destroy());
    });
    await using client = new ModelClient(server.authority, tokens);
    const answers = client.streamSample({ x: X });
    expect((await answers.next()).value!.y!.data).toEqual(Float32Array.of(1));
    await expect(answers.next()).rejects.toSatisfy(TritonConnectionError.is);
  });

  it('aborts a call on its signal, its deadline and the end of the client, and the server sees it', async () => {
    const arrived = new Set<string>();
    const gone = new Set<string>();
    let changed = () => {};
    const change = () => new Promise<void>((resolve) => (changed = resolve));
    await using server = await startHttp((request, response) => {
      const id = readInfer(request).json.id!;
      arrived.add(id);
      response.on('close', () => {
        gone.add(id);
        changed();
      });
      changed();
    });
    const client = new ModelClient(server.authority, double);
    const controller = new AbortController();
    const failure = (options: object) => client.inferSample({ x: X }, options).catch((error: unknown) => error);
    const aborted = failure({ requestId: 'aborted', signal: controller.signal });
    const ended = failure({ requestId: 'ended' });
    while (arrived.size < 2) await change();
    expect(await failure({ requestId: 'late', timeoutMs: 50 })).toMatchObject({ name: 'TritonTimeoutError' });
    controller.abort();
    expect(await aborted).toMatchObject({ code: 'CANCELLED' });
    await client.close();
    expect(await ended).toMatchObject({ code: 'CANCELLED', message: 'ModelClient is closed' });
    // On a slow machine the late one may never have been sent.
    while (gone.size < arrived.size) await change();
    expect([...gone]).toEqual(expect.arrayContaining(['aborted', 'ended']));
  });

  it('tells of a server all that the client for Node does', async () => {
    await using server = await startServer((triton) => {
      triton.bind({
        ...double,
        config: {
          maxBatchSize: 16,
          batcher: { preferredBatchSize: [4, 8], maxQueueDelayMicroseconds: 100, priorityLevels: 2, defaultPriorityLevel: 1 },
          modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'float32', shape: [2], zeroData: true } } }],
          versionPolicy: { latest: { numVersions: 3 } },
          responseCache: false,
        },
        outputs: { y: { dtype: 'float32', shape: [-1], labels: ['a', 'b'] } },
        inferFunc: (requests) => requests,
      });
      triton.bind({ ...tokens, inferFunc: async function* (requests) { yield requests; } });
    }, cors); // prettier-ignore
    const { ServerClient: NodeServerClient } = await import('tstriton/client');
    await using ours = new ServerClient(server.http);
    await using theirs = new NodeServerClient(server.http);
    for (const ask of [
      (client: ServerClient) => client.metadata(),
      (client: ServerClient) => client.modelMetadata('Double'),
      (client: ServerClient) => client.modelConfig('Double'),
      (client: ServerClient) => client.modelConfig('Tokens'),
      (client: ServerClient) => client.statistics(),
      (client: ServerClient) => client.repositoryIndex(),
      (client: ServerClient) => client.traceSettings(),
      (client: ServerClient) => client.logSettings(),
    ])
      expect(await ask(ours)).toEqual(await ask(theirs as never));
    await using client = new ModelClient(server.http, tokens);
    expect((await collect(client.streamSample({ x: X }))).map(({ y }) => y!.data)).toEqual([X]);
  });
});
