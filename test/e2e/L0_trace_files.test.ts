// Trace files, entry by entry as a real Triton 2.51 wrote them for the same requests: which entries there are, in which order, with
// which members. Only the times differ.
import { existsSync, readFileSync } from 'node:fs';

import { describe, expect, it, vi } from 'vitest';

import { batch, stream, type Triton } from 'tstriton';

import { floatTensor, inferMessage } from '../support/grpc-client.js';
import { callJson, grpcService } from '../support/grpc-service.js';
import { inferJson, startServer } from '../support/start-server.js';
import { temporaryFolder } from '../support/temporary-files.js';
import { POLL_MILLISECONDS, WAIT_MILLISECONDS } from '../support/waiting.js';

const TENSOR = { dtype: 'float32', shape: [-1] } as const;
const file = temporaryFolder();
let files = 0;

interface Entry {
  readonly id: number;
  readonly timestamps?: readonly [{ readonly name: string; readonly ns: number }];
  readonly model_name?: string;
  readonly activity?: string;
}

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as readonly Entry[];

/** A reader that meets a write may see the end of the array before it, and what came behind. */
function unlessWritten(path: string): readonly Entry[] | undefined {
  try {
    return read(path);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What is in the file once the request of that number has ended there, which is soon after its answer. */
function until(path: string, id: number): Promise<readonly Entry[]> {
  const look = () => {
    const entries = unlessWritten(path);
    return entries?.some((entry) => entry.id === id && entry.timestamps?.[0].name === 'REQUEST_END')
      ? entries
      : undefined;
  };
  return vi.waitUntil(look, { timeout: WAIT_MILLISECONDS, interval: POLL_MILLISECONDS }) as Promise<readonly Entry[]>;
}

/** The entries of a trace, in which a time is its name. */
function told(entries: readonly Entry[], id: number): unknown[] {
  return entries
    .filter((entry) => entry.id === id)
    .map(({ id: _id, ...entry }) => (entry.timestamps === undefined ? entry : entry.timestamps[0].name));
}

function timesOf(entries: readonly Entry[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    entries.flatMap(({ timestamps = [] as never }) => timestamps.map(({ name, ns }) => [name, ns])),
  );
}

const COMPUTE = ['COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END'];
const SENT = (protocol: string) => ['INFER_RESPONSE_COMPLETE', `${protocol}_SEND_START`, `${protocol}_SEND_END`];
const floats = (name: string, ...data: readonly number[]) => ({
  name,
  datatype: 'FP32',
  shape: [1, data.length],
  data,
});

function bind(triton: Triton): void {
  triton.bind({
    modelName: 'addsub',
    inputs: { a: TENSOR, b: TENSOR },
    outputs: { add: TENSOR, sub: TENSOR },
    inferFunc: batch(({ a, b }) => ({
      add: a.data.map((value, index) => value + b.data[index]!),
      sub: a.data.map((value, index) => value - b.data[index]!),
    })),
    config: { maxBatchSize: 8 },
  });
  triton.bind({
    modelName: 'cached',
    inputs: { x: TENSOR },
    outputs: { y: TENSOR },
    inferFunc: (requests) => requests,
    config: { responseCache: true },
  });
  triton.bind({
    modelName: 'fails',
    inputs: { x: TENSOR },
    outputs: { y: TENSOR },
    inferFunc: () => {
      throw new Error('no');
    },
  });
  triton.bind({
    modelName: 'count',
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] } },
    inferFunc: stream(function* () {
      yield { i: Int32Array.of(0) };
      yield { i: Int32Array.of(1) };
    }),
    config: { decoupled: true, batching: false },
  });
}

describe.each([{ serverThread: true }, { serverThread: false }])('trace files with %o', ({ serverThread }) => {
  function start(path: string, ...settings: readonly string[]) {
    const traceConfig = [`triton,file=${path}`, ...settings];
    return startServer(bind, { serverThread, traceConfig, restrictedEndpoints: [], cacheConfig: 'local,size=100000' });
  }

  it('tell of each request what Triton tells, in an array that is whole after every write', async () => {
    const path = file(`${files++}.json`);
    await using server = await start(path, 'level=TIMESTAMPS', 'rate=1');
    expect(read(path)).toEqual([]);
    const before = process.hrtime.bigint();
    await inferJson(server.http, 'addsub', [floats('a', 1), floats('b', 2)]);
    const body = JSON.stringify({ id: 'q1', inputs: [floats('a', 1), floats('b', 2)] });
    await fetch(`${server.http}/v2/models/addsub/infer`, { method: 'POST', body });
    const first = await until(path, 2);
    const after = process.hrtime.bigint();
    expect(told(first, 2)).toEqual([
      'HTTP_RECV_START',
      'HTTP_RECV_END',
      { model_name: 'addsub', model_version: 1, request_id: 'q1' },
      'REQUEST_START',
      'QUEUE_START',
      ...COMPUTE,
      ...SENT('HTTP'),
      'REQUEST_END',
    ]);
    const times = timesOf(first.filter(({ id }) => id === 2));
    const inOrder = [
      'HTTP_RECV_START',
      'HTTP_RECV_END',
      'REQUEST_START',
      'QUEUE_START',
      ...COMPUTE,
      ...SENT('HTTP'),
      'REQUEST_END',
    ];
    expect(inOrder.map((name) => times[name]!)).toEqual(inOrder.map((name) => times[name]!).toSorted((a, b) => a - b));
    expect(BigInt(times['HTTP_RECV_START']!)).toBeGreaterThan(before);
    expect(BigInt(times['REQUEST_END']!)).toBeLessThan(after);

    // A refused one is in no file; one that failed ends without a response.
    await inferJson(server.http, 'addsub', [floats('a', 1)]);
    expect((await inferJson(server.http, 'fails', [floats('x', 1)])).status).toBe(500);
    const failed = await until(path, 4);
    expect(failed.some(({ id }) => id === 3)).toBe(false);
    expect(told(failed, 4).slice(2)).toEqual([
      { model_name: 'fails', model_version: 1 },
      'REQUEST_START',
      'QUEUE_START',
      'REQUEST_END',
    ]);

    // An answer from the cache has no computation.
    for (let i = 0; i < 2; i++) await inferJson(server.http, 'cached', [floats('x', 1)]);
    const cached = await until(path, 6);
    expect(told(cached, 5).slice(4)).toEqual(['QUEUE_START', ...COMPUTE, ...SENT('HTTP'), 'REQUEST_END']);
    expect(told(cached, 6).slice(4)).toEqual(['QUEUE_START', ...SENT('HTTP'), 'REQUEST_END']);

    using grpc = grpcService(server.grpc);
    await grpc.call('ModelInfer', inferMessage('addsub', [floatTensor('a', [1]), floatTensor('b', [2])]));
    expect(told(await until(path, 7), 7)).toEqual([
      'GRPC_WAITREAD_START',
      'GRPC_WAITREAD_END',
      { model_name: 'addsub', model_version: 1 },
      'REQUEST_START',
      'QUEUE_START',
      ...COMPUTE,
      ...SENT('GRPC'),
      'REQUEST_END',
    ]);

    await (await fetch(`${server.http}/v2/models/count/generate_stream`, { method: 'POST', body: '{"n":2}' })).text();
    const streamed = (await until(path, 8)).filter(({ id }) => id === 8);
    expect(streamed.every(({ timestamps }) => timestamps === undefined || timestamps[0].ns > 0)).toBe(true);
    expect(told(streamed, 8).slice(5)).toEqual([...SENT('HTTP'), ...SENT('HTTP'), ...COMPUTE, 'REQUEST_END']);
    expect(await callJson(`${server.http}/v2/trace/setting`)).toMatchObject([
      200,
      { trace_mode: 'triton', trace_file: path },
    ]);
  });

  it('have the tensors too, a file for every so many traces, and what clients set meanwhile', async () => {
    const path = file(`${files++}.json`);
    {
      await using server = await start(path, 'level=TENSORS', 'rate=2', 'count=3', 'triton,log-frequency=2');
      for (let i = 0; i < 9; i++) await inferJson(server.http, 'addsub', [floats('a', 1, 2.5), floats('b', 2, i)]);
      const written = () => existsSync(`${path}.0`);
      await vi.waitUntil(written, { timeout: WAIT_MILLISECONDS, interval: POLL_MILLISECONDS });
      expect(existsSync(`${path}.1`)).toBe(false);
      await callJson(`${server.http}/v2/trace/setting`, { trace_count: '5', trace_rate: '1', log_frequency: '3' });
      const long = floats('x', ...new Array<number>(1001).fill(7));
      await inferJson(server.http, 'cached', [long]);
    }
    const tensor = (activity: string, name: string, data: string) => ({
      activity,
      tensor: { name, data, shape: '1,2', dtype: 'FP32' },
    });
    expect(told(read(`${path}.0`), 1)).toEqual([
      tensor('TENSOR_QUEUE_INPUT', 'a', '1,2.5'),
      tensor('TENSOR_QUEUE_INPUT', 'b', '2,1'),
      tensor('TENSOR_BACKEND_OUTPUT', 'add', '3,3.5'),
      tensor('TENSOR_BACKEND_OUTPUT', 'sub', '-1,1.5'),
    ]);
    expect(new Set(read(`${path}.0`).map(({ id }) => id))).toEqual(new Set([1, 2]));
    // What was left when the server stopped.
    expect(new Set(read(`${path}.1`).map(({ id }) => id))).toEqual(new Set([3, 4]));
    expect(told(read(`${path}.1`), 4)[0]).toMatchObject({ tensor: { data: `${'7,'.repeat(1000)}…` } });
    expect(read(path)).toEqual([]);
  });

  it('that cannot be written are told of before anything is served', async () => {
    await expect(start('/nowhere/trace.json', 'level=TIMESTAMPS')).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: expect.stringMatching(/^cannot open the trace file \/nowhere\/trace\.json: ENOENT/) as unknown,
    });
  });
});
