// Metrics and statistics, as scrapers and clients read them; named after Triton's own suite.
import { describe, expect, it } from 'vitest';

import {
  batch,
  counter,
  defineModel,
  gauge,
  histogram,
  instanceGroup,
  stream,
  TritonError,
  type CallableOf,
  type Triton,
  type TritonConfig,
} from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { floatTensor, inferMessage } from '../support/grpc-client.js';
import { grpcService } from '../support/grpc-service.js';
import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { MetricsText } from '../support/metrics-text.js';
import { inferJson, startServer, type RunningServer } from '../support/start-server.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const TENSORS = { inputs: { x: FLOATS }, outputs: { y: FLOATS } } as const;
const identity = defineModel({ modelName: 'M', ...TENSORS });
const streamed = defineModel({ ...identity, config: { decoupled: true } });
const M = { model: 'M', version: '1' };

function bindIdentity(triton: Triton, modelName = 'M'): void {
  triton.bind({ modelName, ...TENSORS, inferFunc: (requests) => requests, config: { maxBatchSize: 8 } });
}

function ask(server: RunningServer, model: string, values: readonly number[], rows = 1) {
  const shape = [rows, values.length / rows];
  return inferJson(server.http, model, [{ name: 'x', datatype: 'FP32', shape, data: values }]);
}

interface Duration {
  readonly count: number;
  readonly ns: number;
}

interface Statistics {
  readonly inference_stats: Readonly<Record<string, Duration>>;
  readonly response_stats: Readonly<Record<string, Readonly<Record<string, Duration>>>>;
  readonly batch_stats: readonly { readonly batch_size: number }[];
}

async function statistics(server: RunningServer, model: string): Promise<Statistics> {
  const response = await fetch(`${server.http}/v2/models/${model}/stats`);
  return ((await response.json()) as { readonly model_stats: readonly [Statistics] }).model_stats[0];
}

describe.each([{ serverThread: true }, { serverThread: false }])('metrics with %o', ({ serverThread }) => {
  const start = (bind: (triton: Triton) => void, config: TritonConfig = {}) =>
    startServer(bind, { serverThread, ...config });

  it('count what was asked over both protocols, and what was refused', async () => {
    await using server = await start((triton) => bindIdentity(triton));
    await ask(server, 'M', [1, 2, 3]);
    await using client = new ModelClient(server.grpc, { modelName: 'M', ...TENSORS });
    await client.inferBatch({ x: [[1], [2], [3]] });
    expect((await ask(server, 'M', [1, 2], 2)).status).toBe(200);
    const wrong = { name: 'wrong', datatype: 'FP32', shape: [1, 1], data: [1] };
    const short = { name: 'x', datatype: 'FP32', shape: [1, 2], data: [1] };
    for (const input of [wrong, short]) expect((await inferJson(server.http, 'M', [input])).status).toBe(400);
    using grpc = grpcService(server.grpc);
    const message = inferMessage('M', [{ ...floatTensor('x', [1, 2]), shape: [1, 3] }]);
    await expect(grpc.call('ModelInfer', message)).rejects.toMatchObject({ code: 3 });
    const metrics = await MetricsText.of(server.metrics);
    const values = (names: readonly string[]) => names.map((name) => metrics.value(name, M));
    expect(values(['nv_inference_request_success', 'nv_inference_count', 'nv_inference_exec_count'])).toEqual([
      3, 6, 3,
    ]);
    expect(values(['tstriton_request_duration_seconds_count', 'tstriton_queue_wait_seconds_count'])).toEqual([3, 3]);
    expect(values(['tstriton_batch_rows_sum', 'tstriton_instances', 'tstriton_inflight_requests'])).toEqual([6, 1, 0]);
    expect(metrics.value('tstriton_refused_requests_total', { ...M, code: 'INVALID_ARG' })).toBe(3);
    expect(metrics.value('tstriton_batches_total', { ...M, reason: 'idle' })).toBe(3);
    expect(metrics.value('nv_inference_request_duration_us', M)).toBeGreaterThan(0);
    expect(metrics.value('nv_model_load_duration_secs', M)).toBeGreaterThan(0);
    expect(metrics.value('tstriton_connections', { protocol: 'grpc' })).toBe(2);
    expect(metrics.value('tstriton_event_loop_lag_seconds_bucket', { le: '+Inf' })).toBeGreaterThanOrEqual(0);
    expect(
      [...metrics.types.keys()].filter((name) => /gpu|pinned|energy|cache|summary|first_response/.test(name)),
    ).toEqual([]);
  });

  it('tell failures by their reason', async () => {
    // Only the late one may expire, however slowly the others come to run.
    const policy = { defaultTimeoutMicroseconds: 3_600_000_000, allowTimeoutOverride: true };
    const model = new HeldModel({ batcher: { defaultQueuePolicy: policy } });
    await using server = await start((triton) => model.bind(triton));
    await using clients = new HeldModelClients(server, model);
    model.failing.add('bad');
    const bad = clients.ask('bad');
    await model.began(1);
    await expect(clients.ask('late', { parameters: { timeout: 1000 } })).resolves.toContain(
      'UNAVAILABLE Request timeout expired',
    );
    model.open();
    await bad;
    const metrics = await MetricsText.of(server.metrics);
    const failures = (reason: string) => metrics.value('nv_inference_request_failure', { model: 'Held', reason });
    expect(['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'].map(failures)).toEqual([1, 0, 1, 0]);
  });

  it('show how many requests wait and how many are under way', async () => {
    const model = new HeldModel({ maxBatchSize: 1 });
    await using server = await start((triton) => model.bind(triton));
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('a');
    await model.began(1);
    const others = await clients.queue('bcd');
    const metrics = await MetricsText.of(server.metrics);
    expect(metrics.value('nv_inference_pending_request_count', { model: 'Held' })).toBe(3);
    expect(metrics.value('tstriton_inflight_requests', { model: 'Held' })).toBe(4);
    model.open();
    await Promise.all([first, ...others]);
    const after = await MetricsText.of(server.metrics);
    expect(after.value('nv_inference_pending_request_count', { model: 'Held' })).toBe(0);
    expect(after.value('tstriton_inflight_requests', { model: 'Held' })).toBe(0);
  });

  it('have summaries, the first-response histogram and no durations when asked so', async () => {
    const metricsConfig = [
      'summary_latencies=true',
      'summary_quantiles=0.5:0.05,0.9:0.01',
      'histogram_latencies=true',
      'counter_latencies=false',
    ];
    await using server = await start(
      (triton) => {
        bindIdentity(triton);
        triton.bind({
          modelName: 'S',
          ...TENSORS,
          inferFunc: stream(function* ({ x }) {
            yield { y: x };
          }),
          config: { decoupled: true },
        });
      },
      { metricsConfig },
    );
    await ask(server, 'M', [1]);
    await (await fetch(`${server.http}/v2/models/S/generate_stream`, { method: 'POST', body: '{"x":[1]}' })).text();
    const metrics = await MetricsText.of(server.metrics);
    expect(metrics.types.has('nv_inference_request_duration_us')).toBe(false);
    expect(metrics.value('nv_inference_request_success', M)).toBe(1);
    expect(metrics.types.get('nv_inference_queue_summary_us')).toBe('summary');
    const quantiles = metrics.samples.filter(
      ({ name, labels }) => name === 'nv_inference_request_summary_us' && labels['model'] === 'M',
    );
    expect(quantiles.map(({ labels, value }) => [labels['quantile'], value > 0])).toEqual([
      ['0.5', true],
      ['0.9', true],
    ]);
    expect(metrics.value('nv_inference_first_response_histogram_ms_count', { model: 'S' })).toBe(1);
    // The only response of an ordinary model is its first.
    expect(metrics.value('nv_inference_first_response_histogram_ms_count', M)).toBe(1);
  });

  it('show the response cache', async () => {
    await using server = await start(
      (triton) =>
        void triton.bind({
          modelName: 'M',
          ...TENSORS,
          inferFunc: (requests) => requests,
          config: { responseCache: true },
        }),
      { cacheConfig: 'local,size=100000' },
    );
    for (const value of [1, 1, 2, 1]) await ask(server, 'M', [value]);
    const metrics = await MetricsText.of(server.metrics);
    expect(metrics.value('nv_cache_num_hits_per_model', M)).toBe(2);
    expect(metrics.value('nv_cache_num_misses_per_model', M)).toBe(2);
    expect(metrics.value('nv_cache_num_lookups')).toBe(4);
    expect(metrics.value('nv_cache_num_hits')).toBe(2);
    expect(metrics.value('nv_cache_num_misses')).toBe(2);
    expect(metrics.value('nv_cache_num_entries')).toBe(2);
    expect(metrics.value('nv_cache_util')).toBeGreaterThan(0);
    expect(metrics.value('nv_inference_request_success', M)).toBe(4);
    expect(metrics.value('nv_inference_exec_count', M)).toBe(2);
  });

  it.runIf(process.platform === 'linux')('show the machine unless told not to', async () => {
    await using shown = await start((triton) => bindIdentity(triton), { metricsIntervalMs: 1 });
    const metrics = await MetricsText.of(shown.metrics);
    const [utilization, total, used] = ['utilization', 'memory_total_bytes', 'memory_used_bytes'].map(
      (name) => metrics.value(`nv_cpu_${name}`) ?? -1,
    );
    expect(utilization).toBeGreaterThanOrEqual(0);
    expect(utilization).toBeLessThanOrEqual(1);
    expect(total).toBeGreaterThan(used!);
    expect(used).toBeGreaterThan(0);
    await using hidden = await start((triton) => bindIdentity(triton), { allowCpuMetrics: false });
    expect((await MetricsText.of(hidden.metrics)).text).not.toContain('nv_cpu');
  });

  it('are there for a model from its load to its unload', async () => {
    await using server = await start(
      (triton) => {
        bindIdentity(triton, 'A');
        bindIdentity(triton, 'B');
      },
      { modelControlMode: 'explicit', loadModel: ['A'], restrictedEndpoints: [] },
    );
    const shown = async () => {
      const metrics = await MetricsText.of(server.metrics);
      return ['A', 'B'].filter((model) => metrics.value('nv_inference_count', { model }) !== undefined);
    };
    const control = (model: string, action: string) =>
      fetch(`${server.http}/v2/repository/models/${model}/${action}`, { method: 'POST' });
    expect(await shown()).toEqual(['A']);
    await control('B', 'load');
    expect(await shown()).toEqual(['A', 'B']);
    await control('A', 'unload');
    await expect.poll(shown).toEqual(['B']);
  });

  it('count instances that were started again', async () => {
    await using server = await start(
      (triton) =>
        void triton.bind({
          modelName: 'Threads',
          inputs: { x: { dtype: 'int32', shape: [1] } },
          outputs: { y: { dtype: 'string', shape: [1] }, thread: { dtype: 'int32', shape: [1] } },
          inferFunc: instanceGroup(new URL('../fixtures/instance.js', import.meta.url)),
        }),
    );
    const exit = { name: 'x', datatype: 'INT32', shape: [1, 1], data: [1] };
    expect((await inferJson(server.http, 'Threads', [exit])).status).toBe(503);
    const value = async (name: string) => (await MetricsText.of(server.metrics)).value(name, { model: 'Threads' });
    await expect.poll(() => value('tstriton_instance_restarts_total')).toBe(1);
    expect(await value('tstriton_instances')).toBe(1);
  });
});

const tokens = counter({ name: 'test_tokens_total', help: 'Tokens made.', labels: ['kind'] });
const fill = gauge({ name: 'test_fill', help: 'How full it is.' });
const lengths = histogram({ name: 'test_length_rows', help: 'Rows of requests.', buckets: [1, 4] });

describe.each([{ serverThread: true }, { serverThread: false }])('metrics of callables with %o', ({ serverThread }) => {
  it('are shown with the labels of the model, added up over its instances', async () => {
    const infer: CallableOf<typeof identity> = batch(({ x }, { metrics }) => {
      metrics.add(tokens, x.data.length, { kind: x.data[0]! > 0 ? 'positive' : 'other' });
      metrics.set(fill, x.data[0]!);
      metrics.observe(lengths, x.rowCount);
      return { y: x };
    });
    await using server = await startServer(
      (triton) =>
        void triton.bind({ modelName: 'M', ...TENSORS, inferFunc: [infer, infer], config: { maxBatchSize: 8 } }),
      { serverThread },
    );
    expect((await MetricsText.of(server.metrics)).text).not.toContain('test_');
    for (const [values, rows] of [
      [[1, 1], 2],
      [[2, 2, 2], 3],
      [[-3], 1],
      [[4, 4, 4, 4, 4], 5],
    ] as const) {
      // prettier-ignore
      expect((await ask(server, 'M', values, rows)).status).toBe(200);
    }
    const metrics = await MetricsText.of(server.metrics);
    expect(metrics.value('test_tokens_total', { ...M, kind: 'positive' })).toBe(10);
    expect(metrics.value('test_tokens_total', { ...M, kind: 'other' })).toBe(1);
    expect(metrics.value('test_fill', M)).toBe(4);
    expect(['1', '4', '+Inf'].map((le) => metrics.value('test_length_rows_bucket', { ...M, le }))).toEqual([1, 3, 4]);
    expect(metrics.value('test_length_rows_sum', M)).toBe(11);
    expect(metrics.text).toContain('# HELP test_tokens_total Tokens made.\n# TYPE test_tokens_total counter\n');
  });

  it('of a stream are shown while it goes on', async () => {
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const inferFunc: CallableOf<typeof streamed> = stream(async function* ({ x }, { metrics }) {
      metrics.add(tokens, 1, { kind: 'stream' });
      yield { y: x };
      await ended;
      metrics.add(tokens, 1, { kind: 'stream' });
    });
    await using server = await startServer(
      (triton) => void triton.bind({ modelName: 'M', ...TENSORS, inferFunc, config: { decoupled: true } }),
      { serverThread },
    );
    const asked = fetch(`${server.http}/v2/models/M/generate_stream`, { method: 'POST', body: '{"x":[1]}' });
    const value = async () => (await MetricsText.of(server.metrics)).value('test_tokens_total', M);
    await expect.poll(value).toBe(1);
    end();
    await (await asked).text();
    expect(await value()).toBe(2);
  });

  it('that cannot be recorded fail the request that tried', async () => {
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          modelName: 'M',
          ...TENSORS,
          inferFunc: (requests, { metrics }) => {
            metrics.add(tokens, -1, { kind: 'x' });
            return requests;
          },
        }),
      { serverThread },
    );
    expect(await ask(server, 'M', [1])).toMatchObject({
      status: 500,
      error: "counter 'test_tokens_total' can be added a finite number >= 0 only, got -1",
    });
  });
});

describe.each([{ serverThread: true }, { serverThread: false }])('statistics with %o', ({ serverThread }) => {
  it('hold together over successes, failures and cancellations', async () => {
    const model = new HeldModel({ maxBatchSize: 4 });
    await using server = await startServer((triton) => model.bind(triton), { serverThread });
    await using clients = new HeldModelClients(server, model);
    model.failing.add('c');
    const first = clients.ask('a');
    await model.began(1);
    const others = await clients.queue('bcd', () => ({ rows: 1 }));
    model.open();
    await Promise.all([first, ...others]);
    const { inference_stats: stats, batch_stats, ...counts } = await statistics(server, 'Held');
    const count = (name: string) => stats[name]!.count;
    expect([count('success'), count('fail')]).toEqual([3, 1]);
    expect(['queue', 'compute_input', 'compute_infer', 'compute_output'].map(count)).toEqual([3, 3, 3, 3]);
    expect(counts).toMatchObject({ inference_count: 3, execution_count: 2, response_stats: {} });
    expect(batch_stats.map(({ batch_size }) => batch_size)).toEqual([1, 3]);
  });

  it('tell of each response of a decoupled model', async () => {
    const inferFunc: CallableOf<typeof streamed> = stream(function* ({ x }) {
      for (let i = 0; i < Math.abs(x.data[0]!); i++) yield { y: x };
      if (x.data[0]! < 0) throw new TritonError('INTERNAL', 'below zero');
    });
    await using server = await startServer(
      (triton) => void triton.bind({ modelName: 'M', ...TENSORS, inferFunc, config: { decoupled: true } }),
      { serverThread },
    );
    for (const x of [2, 1, -1, 0]) {
      await (
        await fetch(`${server.http}/v2/models/M/generate_stream`, { method: 'POST', body: JSON.stringify({ x: [x] }) })
      ).text();
    }
    const { response_stats: responses, inference_stats: stats } = await statistics(server, 'M');
    const counted = Object.entries(responses).map(([index, durations]) => [
      index,
      Object.fromEntries(Object.entries(durations).map(([name, { count }]) => [name, count])),
    ]);
    const none = { compute_infer: 0, compute_output: 0, success: 0, fail: 0, empty_response: 0, cancel: 0 };
    const sent = (count: number) => ({ ...none, compute_infer: count, compute_output: count, success: count });
    expect(counted).toEqual([
      ['0', { ...sent(3), empty_response: 1 }],
      ['1', { ...sent(1), fail: 1, empty_response: 1 }],
      ['2', { ...none, empty_response: 1 }],
    ]);
    expect(stats).toMatchObject({ success: { count: 3 }, fail: { count: 1 } });
  });
});
