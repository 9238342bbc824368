// Clients that leave or fall silent at any byte of a request, at every endpoint. The server serves others meanwhile, and keeps nothing of them.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';

import { expect, it } from 'vitest';

import { chatModel, stream, type Triton } from 'tstriton';
import { ModelClient, ServerClient } from 'tstriton/client';

import { MetricsText } from '../support/metrics-text.js';
import { RawConnection } from '../support/raw-http.js';
import { emptyFolder } from '../support/temporary-files.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const INTS = { dtype: 'int32', shape: [-1] } as const;
const ENDS = ['closes', 'half-closes', 'resets', 'falls silent'] as const;
const AT_ONCE = 40;

function bind(triton: Triton, running: Set<object>): void {
  const counted = async function* <T>(values: Iterable<T>) {
    const call = {};
    running.add(call);
    try {
      for (const value of values) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield value;
      }
    } finally {
      running.delete(call);
    }
  };
  triton.bind({
    modelName: 'Next',
    inputs: { x: INTS },
    outputs: { y: INTS },
    inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ y: x.map((value) => value + 1) })),
  });
  triton.bind({
    modelName: 'Count',
    inputs: { x: INTS },
    outputs: { y: INTS },
    config: { decoupled: true, concurrency: 64 },
    inferFunc: stream(({ x }) => counted(Array.from(x.data, (value) => ({ y: [[value]] })))),
  });
  triton.bind(
    chatModel({ modelName: 'Chat', chat: ({ messages }) => counted((messages[0]!.content as string).split(' ')) }),
  );
}

function post(path: string, body: object | string, headers = ''): Buffer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return Buffer.from(`POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${text.length}\r\n\r\n${text}`);
}

const TENSOR = { name: 'x', datatype: 'INT32', shape: [1, 3] };
const HEAD = JSON.stringify({ inputs: [{ ...TENSOR, parameters: { binary_data_size: 12 } }] });
const CHUNKS = [`{"inputs":[{"nam`, `e":"x","datatype":"INT32","shape":[1,3],"data":[7,8,9]}]}`, ''].map(
  (chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`,
);
const HTTP = [
  post('/v2/models/Next/infer', `${HEAD}abcdefghijkl`, `Inference-Header-Content-Length: ${HEAD.length}\r\n`),
  post('/v2/models/Next/infer', { inputs: [{ ...TENSOR, data: [1, 2, 3] }] }),
  Buffer.from(`POST /v2/models/Next/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS.join('')}`),
  post('/v2/models/Next/generate', { x: [4] }),
  post('/v2/models/Count/generate_stream', { x: [5, 6] }),
  post('/v1/chat/completions', { model: 'Chat', stream: true, messages: [{ role: 'user', content: 'a b' }] }),
  post('/v2/repository/models/Absent/load', { parameters: { config: '{}', 'file:1/model.onnx': 'AAAA' } }),
  post('/v2/systemsharedmemory/region/r/register', { key: '/none', offset: 0, byte_size: 8 }),
  post('/v2/trace/setting', { trace_level: ['OFF'] }),
  post('/v2/logging', { log_verbose_level: 0 }),
];

async function statusOf(port: number, request: Buffer): Promise<number | undefined> {
  const connection = await RawConnection.open(port);
  await connection.send(request);
  const answer = await connection.answer();
  connection.reset();
  return answer?.status;
}

/** What a client of ours sends, on a connection of its own. */
async function recorded({ grpc }: RunningServer, ask: (url: string) => Promise<unknown>): Promise<Buffer> {
  const parts: Buffer[] = [];
  const proxy = createServer((client) => {
    const server = connect(Number(new URL(grpc).port), '127.0.0.1');
    client.on('data', (part) => parts.push(Buffer.from(part)));
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  await ask(`grpc://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  proxy.close();
  return Buffer.concat(parts);
}

async function grpcRequests(server: RunningServer): Promise<readonly Buffer[]> {
  const unary = await recorded(server, async (url) => {
    await using client = new ModelClient(url, 'Next');
    await client.inferBatch({ x: [[1, 2]] });
  });
  const streamed = await recorded(server, async (url) => {
    await using client = new ModelClient(url, 'Count');
    for await (const _ of client.streamBatch({ x: [[3, 4]] }));
  });
  const index = await recorded(server, async (url) => {
    await using client = new ServerClient(url);
    await client.isReady();
  });
  return [unary, streamed, index];
}

async function cut(port: number, bytes: Buffer, end: (typeof ENDS)[number]): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined).resume();
  await once(socket, 'connect');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise((resolve) => socket.write(bytes, resolve));
  if (end === 'resets') socket.resetAndDestroy();
  else if (end === 'closes') socket.destroy();
  else if (end === 'half-closes') socket.once('end', () => socket.destroy()).end();
  // Silent for as long as some others come and go.
  else setTimeout(() => socket.destroy(), 50);
  await closed;
}

it.each([{ serverThread: true }, { serverThread: false }])('cost nobody anything, with %o', async (threads) => {
  const running = new Set<object>();
  const repository = {
    modelRepository: emptyFolder('tstriton-cut-'),
    modelControlMode: 'explicit',
    loadModel: ['*'],
  } as const;
  const config = { ...threads, ...repository, restrictedEndpoints: [] };
  await using server = await startServer((triton) => bind(triton, running), config);
  const { triton } = server;
  // They are whole and good, but for the load and the region, which are refused.
  const statuses = await Promise.all(HTTP.map((request) => statusOf(triton.httpPort!, request)));
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 400, 501, 200, 200]);
  const sets = [
    [triton.httpPort!, HTTP],
    [triton.grpcPort!, await grpcRequests(server)],
  ] as const;
  const cuts = sets
    .flatMap(([port, requests]) =>
      requests.flatMap((bytes) =>
        // Every byte, half of them in each placement.
        Array.from({ length: bytes.length >> 1 }, (_, i) => {
          const length = 2 * i + (threads.serverThread ? 1 : 2);
          return [port, bytes.subarray(0, length), ENDS[i % ENDS.length]!] as const;
        }),
      ),
    )
    .values();
  const cutting = Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const [port, bytes, end] of cuts) await cut(port, bytes, end);
    }),
  );
  let isOver = false;
  const serving = [server.http, server.grpc].map(async (url) => {
    await using client = new ModelClient(url, 'Next', { retry: false });
    for (let i = 0; !isOver; i++) {
      const x = Int32Array.from({ length: (i * 37) % 5000 || 1 }, (_, at) => i + at);
      const { y } = await client.inferSample({ x });
      expect(y!.data).toEqual(x.map((value) => value + 1));
    }
  });
  await cutting.finally(() => (isOver = true));
  await Promise.all(serving);
  await expect.poll(() => running.size).toBe(0);
  const pending = async () => {
    const metrics = await MetricsText.of(server.metrics);
    const counts = metrics.samples.filter(({ name }) => name === 'nv_inference_pending_request_count');
    return counts.map(({ value }) => value);
  };
  await expect.poll(pending).toEqual([0, 0, 0]);
});
