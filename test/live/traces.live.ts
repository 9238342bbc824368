// What a running Triton traces: the other column of the table of differences in docs/protocol-support.md. What ours
// does in its place is in test/e2e/L0_trace.test.ts.
import { afterAll, beforeAll, expect, it } from 'vitest';

import { startTriton, type LiveTriton } from './start-triton.js';
import { TraceCollector, type CollectedSpan } from './trace-collector.js';

const SERVER = 2;
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' } as const;
const UNSAMPLED = { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-00` } as const;

function tensors(...names: string[]): string {
  return names.map((name) => `{ name: "${name}" data_type: TYPE_FP32 dims: [ -1 ] }`).join(', ');
}

const MODELS = {
  addsub: `max_batch_size: 8 input [ ${tensors('a', 'b')} ] output [ ${tensors('add', 'sub')} ]`,
  pair: `max_batch_size: 2 input [ ${tensors('x')} ] output [ ${tensors('y')} ]
    dynamic_batching { preferred_batch_size: [ 2 ] max_queue_delay_microseconds: 10000000 }`,
};

let collector: TraceCollector;
let triton: LiveTriton;
beforeAll(async () => {
  collector = await TraceCollector.open();
  const config = [
    'mode=opentelemetry',
    'rate=1',
    'level=TIMESTAMPS',
    `opentelemetry,url=${collector.url}`,
    'opentelemetry,resource=service.name=live',
    'opentelemetry,bsp_schedule_delay=50',
  ];
  triton = await startTriton(
    MODELS,
    config.map((setting) => `--trace-config=${setting}`),
  );
});
afterAll(async () => {
  await triton?.[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

interface Asked {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask(path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<Asked> {
  const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body), headers };
  const response = await fetch(`http://127.0.0.1:${triton.port}/v2${path}`, request);
  return { status: response.status, body: (await response.json()) as Asked['body'] };
}

function tensor(name: string, data: readonly number[]): object {
  return { name, datatype: 'FP32', shape: [1, data.length], data };
}

function infer(a: readonly number[], b: readonly number[], headers = {}): Promise<Asked> {
  return ask('/models/addsub/infer', { id: 'q', inputs: [tensor('a', a), tensor('b', b)] }, headers);
}

function one(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const found = spans.filter((span) => span.name === name);
  expect(found.map((span) => span.name)).toEqual([name]);
  return found[0]!;
}

const keysOf = ({ attributes = [] }: CollectedSpan) => attributes.map(({ key }) => key);
const eventsOf = ({ events = [] }: CollectedSpan) => events.map(({ name }) => name);

it('has settings of the exporter among those of traces', async () => {
  const { body } = await ask('/trace/setting');
  expect(Object.keys(body).toSorted()).toEqual([
    'bsp_max_export_batch_size',
    'bsp_max_queue_size',
    'bsp_schedule_delay',
    'resource',
    'trace_count',
    'trace_level',
    'trace_mode',
    'trace_rate',
    'url',
  ]);
});

it('has a span named after the model between the request and what its backend does, all of kind SERVER', async () => {
  expect((await infer([1], [1])).status).toBe(200);
  const spans = await collector.requests(1);
  const [request, model, compute] = ['InferRequest', 'addsub', 'compute'].map((name) => one(spans, name));
  expect(spans.map(({ kind }) => kind)).toEqual([SERVER, SERVER, SERVER]);
  expect(spans.some(({ links }) => links !== undefined)).toBe(false);
  expect(model!.parentSpanId).toBe(request!.spanId);
  expect(compute!.parentSpanId).toBe(model!.spanId);
  expect([keysOf(request!), keysOf(compute!)]).toEqual([[], []]);
  expect(keysOf(model!)).toEqual([
    'triton.model_name',
    'triton.model_version',
    'triton.trace_id',
    'triton.trace_parent_id',
    'triton.request_id',
  ]);
  expect(eventsOf(request!)).toContain('HTTP_RECV_START');
  expect(eventsOf(model!)).toEqual(['REQUEST_START', 'QUEUE_START', 'REQUEST_END']);
  expect(eventsOf(compute!)).toEqual(['COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END']);
});

it('has nothing to say of requests that it refuses, and takes failures for successes', async () => {
  const refused = await ask('/models/addsub/infer', { id: 'refused', inputs: [tensor('z', [1])] });
  expect(refused.status).toBe(400);
  expect((await infer([1, 2], [1, 2, 3])).status).toBe(500);
  expect((await infer([1], [1])).status).toBe(200);
  const spans = await collector.requests(2);
  expect(spans.filter(({ name }) => name === 'addsub')).toHaveLength(2);
  expect(spans.filter(({ status }) => (status?.code ?? 0) !== 0)).toEqual([]);
});

it('has no links between requests of one batch', async () => {
  const inputs = [tensor('x', [1])];
  await Promise.all([ask('/models/pair/infer', { inputs }), ask('/models/pair/infer', { inputs })]);
  const { body } = await ask('/models/pair/stats');
  expect(body['model_stats']).toMatchObject([{ inference_count: 2, execution_count: 1 }]);
  const spans = await collector.requests(2);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
  expect(spans.some(({ links }) => links !== undefined)).toBe(false);
});

it('traces a request whose caller does not, whatever the rate', async () => {
  await ask('/trace/setting', { trace_rate: '1000000' });
  expect((await infer([1], [1])).status).toBe(200);
  expect((await infer([1], [1], UNSAMPLED)).status).toBe(200);
  const spans = await collector.requests(1);
  expect(one(spans, 'InferRequest')).toMatchObject({ traceId: CALLER.traceId, parentSpanId: CALLER.spanId });
});

it('takes the level TENSORS, by which a request has a span with nothing in it', async () => {
  const { status, body } = await ask('/trace/setting', { trace_level: ['TENSORS'], trace_rate: '1' });
  expect([status, body['trace_level']]).toEqual([200, ['TENSORS']]);
  expect((await infer([1], [1])).status).toBe(200);
  const spans = await collector.requests(1);
  expect(spans.map(({ name }) => name)).toEqual(['InferRequest']);
  expect([keysOf(spans[0]!), eventsOf(spans[0]!)]).toEqual([[], []]);
});
