// The trace extension: settings of the server and of models, as Triton's suite of this name tests them; and the spans
// of requests that are traced.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { AlwaysOnSampler, type Sampler } from '@opentelemetry/sdk-trace-node';
import { describe, expect, it } from 'vitest';

import {
  batch,
  defineModel,
  instanceGroup,
  stream,
  Tensor,
  TritonError,
  type InferenceContext,
  type InferenceRequest,
  type Span,
  type Triton,
} from 'tstriton';
import { ModelClient, type SequenceOptions } from 'tstriton/client';

import { floatTensor, GrpcService, inferMessage } from '../support/grpc-client.js';
import { callJson, grpcService } from '../support/grpc-service.js';
import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { activeSpanId, SpanRecorder, tracer } from '../support/spans.js';
import { startServer, type RunningServer } from '../support/start-server.js';
import { WAIT_MILLISECONDS } from '../support/waiting.js';

const TENSOR = { dtype: 'float32', shape: [-1] } as const;

function bind(triton: Triton): void {
  for (const modelName of ['simple', 'other'])
    triton.bind({ modelName, inferFunc: (requests) => requests, inputs: { x: TENSOR }, outputs: { y: TENSOR } });
}

const DEFAULTS = {
  trace_level: ['OFF'],
  trace_rate: '1000',
  trace_count: '-1',
  log_frequency: '0',
  trace_file: '',
  trace_mode: 'triton',
};

it('trace settings of the server and of models are one state over both protocols', async () => {
  await using server = await startServer(bind, { restrictedEndpoints: [] });
  using grpc = grpcService(server.grpc);
  const setting = (model = '') => `${server.http}/v2${model === '' ? '' : `/models/${model}`}/trace/setting`;
  expect(await callJson(setting())).toEqual([200, DEFAULTS]);
  expect(await callJson(setting('simple'), { trace_rate: '12', log_frequency: '3' })).toEqual([
    200,
    { ...DEFAULTS, trace_rate: '12', log_frequency: '3' },
  ]);
  await grpc.call('TraceSetting', { settings: { trace_rate: { value: ['5'] }, trace_count: { value: ['9'] } } });
  // What a model did not set itself follows the server.
  expect(await callJson(setting('simple'))).toEqual([
    200,
    { ...DEFAULTS, trace_rate: '12', trace_count: '9', log_frequency: '3' },
  ]);
  expect(await callJson(setting('other'))).toEqual([200, { ...DEFAULTS, trace_rate: '5', trace_count: '9' }]);
  const cleared = await grpc.call('TraceSetting', { model_name: 'simple', settings: { trace_rate: { value: [] } } });
  expect(cleared).toMatchObject({ settings: { trace_rate: { value: ['5'] }, log_frequency: { value: ['3'] } } });
  expect(await callJson(setting(), { trace_rate: null, trace_count: null })).toEqual([200, DEFAULTS]);
});

it('levels that would write a trace file are refused, and nothing changes', async () => {
  await using server = await startServer(bind, { restrictedEndpoints: [] });
  using grpc = grpcService(server.grpc);
  const message = 'Attempting to set invalid trace setting :trace file name is not given';
  const url = `${server.http}/v2/trace/setting`;
  expect(await callJson(url, { trace_level: ['TIMESTAMPS'], trace_rate: '1' })).toEqual([400, { error: message }]);
  await expect(
    grpc.call('TraceSetting', { settings: { trace_level: { value: ['TIMESTAMPS', 'TENSORS'] } } }),
  ).rejects.toMatchObject({ code: 3, details: message });
  expect(await callJson(url)).toEqual([200, DEFAULTS]);
});

/** A caller in another process. */
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' } as const;
const SAMPLED = { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`, tracestate: 'vendor=1' } as const;
const UNSAMPLED = { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-00` } as const;

const TRACED = {
  restrictedEndpoints: [],
  traceConfig: ['mode=opentelemetry', 'level=TIMESTAMPS', 'rate=1'],
} as const;

const number = defineModel({ modelName: 'Number', inputs: { x: TENSOR }, outputs: { y: TENSOR } });
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

async function infer(http: string, model: string, id: string, headers: Readonly<Record<string, string>> = {}, x = 1) {
  const inputs = [{ ...ONE[0]!, data: [x] }];
  const [status, body] = await callJson(`${http}/v2/models/${model}/infer`, { id, inputs }, headers);
  return { status, body: body as { readonly error?: string } };
}

/** What callables saw of spans. */
interface Seen {
  readonly batch: string | undefined;
  readonly requests: readonly (string | undefined)[];
  readonly active: string | undefined;
}

const idOf = (span: Span | undefined) => span?.spanContext().spanId;

function seenBy(requests: readonly InferenceRequest[], context: InferenceContext): Seen {
  return { batch: idOf(context.span), requests: requests.map(({ span }) => idOf(span)), active: activeSpanId() };
}

describe.each([{ serverThread: true }, { serverThread: false }])('traces with %o', ({ serverThread }) => {
  const config = { ...TRACED, serverThread };

  type Ask = (server: RunningServer) => Promise<unknown>;

  it.each<[wire: string, ask: Ask]>([
    ['HTTP with JSON', ({ http }) => infer(http, 'Number', 'q', SAMPLED)],
    [
      'HTTP with binary tensors',
      async ({ http }) => {
        await using client = new ModelClient(http, number);
        await client.inferBatch({ x: Tensor.from('float32', [[1]]) }, { headers: SAMPLED, requestId: 'q' });
      },
    ],
    [
      'gRPC',
      async ({ grpc }) => {
        await using client = new ModelClient(grpc, number);
        await client.inferBatch({ x: Tensor.from('float32', [[1]]) }, { headers: SAMPLED, requestId: 'q' });
      },
    ],
    ['generate', ({ http }) => callJson(`${http}/v2/models/Number/generate`, { id: 'q', x: [1] }, SAMPLED)],
  ])('follow a request over %s', async (_wire, ask) => {
    await using spans = new SpanRecorder();
    const seen: Seen[] = [];
    await using server = await startServer((triton) => {
      triton.bind({
        ...number,
        inferFunc: async (requests, context) => {
          seen.push(seenBy(requests, context));
          await Promise.resolve();
          seen.push(seenBy(requests, context));
          return requests;
        },
      });
    }, config);
    const before = Date.now();
    await ask(server);
    await spans.ended(1);
    const after = Date.now();
    const [request, queue, compute] = [spans.one('InferRequest'), spans.one('queue'), spans.one('compute')];
    expect(request).toMatchObject({
      traceId: CALLER.traceId,
      parentId: CALLER.spanId,
      traceState: 'vendor=1',
      kind: 1,
      status: { code: 0 },
      attributes: { 'triton.model_name': 'Number', 'triton.model_version': 1, 'triton.request_id': 'q' },
    });
    // Nothing of trace files: no ids of theirs, no events for each stamp.
    expect(Object.keys(request.attributes).toSorted()).toEqual([
      'triton.model_name',
      'triton.model_version',
      'triton.request_id',
    ]);
    expect([request, queue, compute].map(({ events }) => events)).toEqual([[], [], []]);
    for (const child of [queue, compute]) {
      expect(child).toMatchObject({ traceId: CALLER.traceId, parentId: request.spanId, kind: 0 });
    }
    expect(compute.attributes).toMatchObject({ 'tstriton.batch.requests': 1, 'tstriton.batch.rows': 1 });
    expect(queue.start).toBe(request.start);
    expect(compute.start).toBeGreaterThanOrEqual(queue.end);
    expect(request.end).toBeGreaterThanOrEqual(compute.end);
    // The clocks of the machine may differ by a millisecond.
    expect(request.start).toBeGreaterThan(before - 2);
    expect(request.end).toBeLessThan(after + 3);
    const here = { batch: compute.spanId, requests: [request.spanId], active: compute.spanId };
    expect(seen).toEqual([here, here]);
  });

  it('tell the sequence of a request, also of one that is refused', async () => {
    await using spans = new SpanRecorder();
    await using server = await startServer((triton) => {
      triton.bind({
        ...number,
        config: { maxBatchSize: 2, sequenceBatching: {} },
        inferFunc: (requests) => requests,
      });
    }, config);
    await using client = new ModelClient(server.grpc, 'Number', { retry: false });
    const ask = (sequence: SequenceOptions) => client.inferSample({ x: Float32Array.of(1) }, { sequence });
    const large = 2n ** 63n + 1n;
    await ask({ id: large, start: true });
    await ask({ id: large, end: true });
    await expect(ask({ id: 'never started' })).rejects.toThrow('must specify the START flag');
    await spans.ended(3);
    const told = spans
      .named('InferRequest')
      .map(({ attributes: { 'tstriton.sequence.id': id, 'tstriton.sequence.start': start, ...others } }) => [
        id,
        start,
        others['tstriton.sequence.end'],
      ]);
    expect(told).toEqual([
      [String(large), true, false],
      [String(large), false, true],
      ['never started', false, false],
    ]);
  });

  it('join several requests of a batch by links', async () => {
    await using spans = new SpanRecorder();
    const seen: Seen[] = [];
    await using server = await startServer((triton) => {
      triton.bind({
        ...number,
        config: { maxBatchSize: 2, batcher: { maxQueueDelayMicroseconds: 3_600_000_000, preferredBatchSize: [2] } },
        inferFunc: (requests, context) => {
          seen.push(seenBy(requests, context));
          return requests;
        },
      });
    }, config);
    await Promise.all([infer(server.http, 'Number', 'a', SAMPLED), infer(server.http, 'Number', 'b')]);
    await spans.ended(1, 'batch');
    const batch = spans.one('batch');
    const requests = spans.named('InferRequest');
    const ids = requests.map(({ spanId }) => spanId);
    expect(batch).toMatchObject({ parentId: undefined, attributes: { 'tstriton.batch.requests': 2 } });
    expect(batch.links.toSorted()).toEqual(ids.toSorted());
    expect(new Set([batch, ...requests].map(({ traceId }) => traceId)).size).toBe(3);
    expect(spans.named('compute').map(({ parentId, links }) => [parentId, links])).toEqual(
      ids.map((id) => [id, [batch.spanId]]),
    );
    expect(new Set(spans.named('queue').map(({ parentId }) => parentId))).toEqual(new Set(ids));
    expect(seen).toEqual([{ batch: batch.spanId, requests: expect.arrayContaining(ids), active: batch.spanId }]);
  });

  it('of one request of a batch hold what the callable does', async () => {
    await using spans = new SpanRecorder();
    const seen: Seen[] = [];
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          config: { maxBatchSize: 2, batcher: { maxQueueDelayMicroseconds: 3_600_000_000, preferredBatchSize: [2] } },
          inferFunc: (requests, context) => {
            seen.push(seenBy(requests, context));
            return requests;
          },
        });
      },
      { ...config, traceConfig: ['mode=opentelemetry', 'level=TIMESTAMPS', 'rate=2'] },
    );
    await Promise.all([infer(server.http, 'Number', 'a'), infer(server.http, 'Number', 'b')]);
    await spans.ended(1);
    const { spanId } = spans.one('compute');
    expect(spans.one('InferRequest').spanId).toBe(spans.one('compute').parentId);
    expect(seen[0]).toMatchObject({ batch: spanId, active: spanId });
    expect(seen[0]!.requests.filter((id) => id !== undefined)).toEqual([spans.one('InferRequest').spanId]);
  });

  it('tell of failures', async () => {
    await using spans = new SpanRecorder();
    await using server = await startServer((triton) => {
      triton.bind({
        ...number,
        inferFunc: (requests) => {
          if (requests[0]!.id === 'thrown') throw new RangeError('no such row');
          return requests.map(() => new TritonError('NOT_FOUND', 'nothing there'));
        },
      });
    }, config);
    await infer(server.http, 'Number', 'thrown');
    await infer(server.http, 'Number', 'returned');
    await callJson(`${server.http}/v2/models/Number/infer`, { id: 'refused', inputs: [{ ...ONE[0], name: 'z' }] });
    await spans.ended(3);
    const [thrown, returned, refused] = spans.named('InferRequest');
    expect(thrown).toMatchObject({
      status: { code: 2, message: 'no such row' },
      attributes: { 'error.type': 'INTERNAL' },
    });
    expect(returned).toMatchObject({
      status: { code: 2, message: 'nothing there' },
      attributes: { 'error.type': 'NOT_FOUND' },
    });
    expect(spans.named('compute').map(({ parentId, events, status }) => [parentId, events, status.code])).toEqual([
      [thrown!.spanId, ['RangeError: no such row'], 2],
      [returned!.spanId, ['TritonError: nothing there'], 2],
    ]);
    expect(refused).toMatchObject({
      status: { code: 2, message: "unexpected inference input 'z' for model 'Number'" },
      attributes: { 'triton.request_id': 'refused', 'error.type': 'INVALID_ARG' },
    });
    expect(spans.named('queue')).toHaveLength(2);
  });

  it('tell of answers that came from the cache', async () => {
    await using spans = new SpanRecorder();
    await using server = await startServer(
      (triton) => {
        triton.bind({ ...number, config: { responseCache: true }, inferFunc: (requests) => requests });
      },
      { ...config, responseCacheByteSize: 1_000_000 },
    );
    await infer(server.http, 'Number', 'first');
    await infer(server.http, 'Number', 'second', SAMPLED);
    await spans.ended(2);
    const [first, second] = spans.named('InferRequest');
    expect(first!.attributes).not.toHaveProperty('tstriton.cache_hit');
    expect(second).toMatchObject({
      parentId: CALLER.spanId,
      attributes: { 'triton.request_id': 'second', 'tstriton.cache_hit': true },
      status: { code: 0 },
    });
    expect(spans.named('compute')).toHaveLength(1);
  });

  it('tell of requests that end in the queue, and of those that are cancelled while they run', async () => {
    await using spans = new SpanRecorder();
    const model = new HeldModel({ maxBatchSize: 1, batcher: { defaultQueuePolicy: { maxQueueSize: 1 } } });
    await using server = await startServer((triton) => model.bind(triton), config);
    await using clients = new HeldModelClients(server, model);
    const controllers = [new AbortController(), new AbortController()];
    const running = clients.ask('running', { signal: controllers[0]!.signal });
    await model.began(1);
    const waiting = clients.ask('waiting', { signal: controllers[1]!.signal });
    await clients.waiting(1);
    await clients.ask('full');
    await spans.ended(1);
    controllers[1]!.abort();
    await waiting;
    await spans.ended(2);
    controllers[0]!.abort();
    await running;
    await model.abortedOne('running');
    model.open();
    await spans.ended(3);
    const [full, cancelled, stopped] = spans.named('InferRequest');
    expect(full).toMatchObject({
      attributes: { 'triton.request_id': 'full', 'error.type': 'UNAVAILABLE' },
      status: { code: 2, message: expect.stringContaining('Exceeds maximum queue size') },
    });
    expect(cancelled).toMatchObject({
      attributes: { 'triton.request_id': 'waiting', 'error.type': 'CANCELLED' },
      status: { code: 2, message: 'CANCELLED' },
    });
    expect(spans.named('queue').find(({ parentId }) => parentId === cancelled!.spanId)).toMatchObject({
      start: cancelled!.start,
      end: cancelled!.end,
    });
    expect(stopped).toMatchObject({ attributes: { 'triton.request_id': 'running' }, events: ['cancelled'] });
  });

  it('have a request wait until its batch begins, also when it lay ready before', async () => {
    await using spans = new SpanRecorder();
    const model = new HeldModel({ maxBatchSize: 1, batcher: {} });
    await using server = await startServer((triton) => model.bind(triton), config);
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('first');
    await model.began(1);
    const second = clients.ask('second');
    await clients.waiting(1);
    // Some milliseconds more.
    for (let i = 0; i < 5; i++) await clients.pending();
    model.open();
    await Promise.all([first, second]);
    await spans.ended(2);
    const [one, other] = spans.named('compute');
    const queue = spans.named('queue').find(({ parentId }) => parentId === other!.parentId)!;
    expect(queue.end).toBeGreaterThan(one!.end - 1);
    expect(queue.end).toBeLessThanOrEqual(other!.start);
  });

  it('follow streams of responses to their end', async () => {
    await using spans = new SpanRecorder();
    const active: unknown[] = [];
    await using server = await startServer((triton) => {
      triton.bind({
        ...number,
        config: { decoupled: true },
        inferFunc: stream(async function* ({ x }, context) {
          for (let i = 0; i < x.data[0]!; i++) {
            await new Promise((resolve) => setImmediate(resolve));
            active.push([idOf(context.span), activeSpanId()]);
            yield { y: x };
          }
          if (x.data[0] === 1) throw new Error('one is not enough');
        }),
      });
    }, config);
    const url = `${server.http}/v2/models/Number/generate_stream`;
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ id: 'q', x: [3] }), headers: SAMPLED });
    await answer.text();
    await spans.ended(1);
    const { spanId } = spans.one('compute');
    expect(spans.one('InferRequest')).toMatchObject({
      parentId: CALLER.spanId,
      events: ['first response'],
      attributes: { 'tstriton.responses': 3 },
    });
    expect(active).toEqual([1, 2, 3].map(() => [spanId, spanId]));
    using grpc = new GrpcService(server.grpc);
    const requests = [2, 1].map((x) => inferMessage('Number', [floatTensor('x', [x])], { id: `x=${x}` }));
    await grpc
      .stream('ModelStreamInfer', { metadata: SAMPLED })
      .send(...requests)
      .end();
    await spans.ended(3);
    expect(
      spans
        .named('InferRequest')
        .slice(1)
        .map(({ parentId, attributes, status }) => ({
          parentId,
          id: attributes['triton.request_id'],
          responses: attributes['tstriton.responses'],
          message: status.message,
        }))
        .toSorted((one, other) => String(one.id).localeCompare(String(other.id))),
    ).toEqual([
      { parentId: CALLER.spanId, id: 'x=1', responses: 1, message: 'one is not enough' },
      { parentId: CALLER.spanId, id: 'x=2', responses: 2, message: undefined },
    ]);
  });

  it('go on in the models that a model calls', async () => {
    await using spans = new SpanRecorder();
    await using server = await startServer(
      (triton) => {
        triton.bind({ ...number, modelName: 'Inner', inferFunc: (requests) => requests });
        triton.bind({
          ...number,
          modelName: 'Outer',
          inferFunc: batch(async ({ x }, { models }) => {
            await models['Inner']!.infer({ x });
            const { y } = await tracer().startActiveSpan('own', async (span) => {
              const outputs = await models['Inner']!.infer({ x });
              span.end();
              return outputs;
            });
            return { y: y as Tensor<'float32'> };
          }),
        });
      },
      // None by itself.
      { ...config, traceConfig: ['mode=opentelemetry', 'level=TIMESTAMPS', 'rate=0'] },
    );
    await infer(server.http, 'Outer', 'untraced');
    await infer(server.http, 'Outer', 'traced', SAMPLED);
    await spans.ended(4);
    // A span of the callable's own is traced on, whoever began it.
    const [alone, first, second, outer] = spans.named('InferRequest');
    const [ownAlone, own] = spans.named('own');
    expect(ownAlone!.parentId).toBeUndefined();
    expect(alone).toMatchObject({ parentId: ownAlone!.spanId, attributes: { 'triton.model_name': 'Inner' } });
    const compute = spans.named('compute').find(({ parentId }) => parentId === outer!.spanId)!;
    expect(outer).toMatchObject({ parentId: CALLER.spanId, attributes: { 'triton.model_name': 'Outer' } });
    expect(first).toMatchObject({ parentId: compute.spanId, attributes: { 'triton.model_name': 'Inner' } });
    expect(own!.parentId).toBe(compute.spanId);
    expect(second).toMatchObject({ parentId: own!.spanId, traceState: 'vendor=1' });
    expect(spans.named('InferRequest')).toHaveLength(4);
  });

  it('of untraced requests are none, whatever was traced before them', async () => {
    await using spans = new SpanRecorder();
    const seen: Seen[] = [];
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          // Two that arrive together would be one batch, which is traced.
          config: { maxBatchSize: 1 },
          inferFunc: async (requests, context) => {
            seen.push(seenBy(requests, context));
            await Promise.resolve();
            return requests;
          },
        });
      },
      { ...config, traceConfig: ['mode=opentelemetry', 'level=TIMESTAMPS', 'rate=0'] },
    );
    await Promise.all([infer(server.http, 'Number', 'a', SAMPLED), infer(server.http, 'Number', 'b')]);
    await infer(server.http, 'Number', 'c');
    await infer(server.http, 'Number', 'd', UNSAMPLED);
    await spans.ended(1);
    expect(spans.requests).toEqual(['a']);
    expect(seen.filter(({ active }) => active === undefined)).toEqual(
      [1, 2, 3].map(() => ({ batch: undefined, requests: [undefined], active: undefined })),
    );
  });

  it.each<[provider: string, sampler: Sampler | undefined, traced: readonly string[]]>([
    ['of a provider that keeps all spans', new AlwaysOnSampler(), ['b', 'd', 'last']],
    ['of a provider that follows the caller, as is usual', undefined, ['last']],
  ])('%s are left to the rate by a caller that keeps none', async (_provider, sampler, traced) => {
    await using spans = new SpanRecorder(sampler === undefined ? {} : { sampler });
    const traceConfig = ['mode=opentelemetry', 'level=TIMESTAMPS', 'rate=2'];
    await using server = await startServer(bind, { ...config, traceConfig });
    for (const id of ['a', 'b', 'c', 'd']) await infer(server.http, 'simple', id, UNSAMPLED);
    await infer(server.http, 'simple', 'last', SAMPLED);
    await spans.ended(traced.length);
    expect(spans.requests).toEqual(traced);
  });

  it('are made in the thread of an instance, by the provider that its module registers', async () => {
    await using spans = new SpanRecorder();
    await using server = await startServer((triton) => {
      triton.bind({ ...number, inferFunc: instanceGroup(new URL('../fixtures/traced-instance.js', import.meta.url)) });
    }, config);
    await infer(server.http, 'Number', 'answered', SAMPLED);
    await spans.ended(1);
    const request = spans.one('InferRequest');
    expect(request).toMatchObject({ parentId: CALLER.spanId, attributes: { 'triton.request_id': 'answered' } });
    expect(spans.one('compute').parentId).toBe(request.spanId);
    expect(spans.one('in the thread').parentId).toBe(spans.one('compute').spanId);
    // What the thread could not tell of any more is told by the server.
    await infer(server.http, 'Number', 'lost', SAMPLED, -1);
    await spans.ended(2);
    expect(spans.named('InferRequest')[1]).toMatchObject({
      attributes: { 'triton.request_id': 'lost', 'error.type': 'UNAVAILABLE' },
      status: { code: 2, message: expect.stringContaining('ended while it was working') },
    });
  });

  it('follow what the trace extension says, at once, of the server and of each model', async () => {
    await using spans = new SpanRecorder();
    await using server = await startServer(bind, { ...config, traceConfig: ['mode=opentelemetry'] });
    using grpc = grpcService(server.grpc);
    const setting = (model = '') => `${server.http}/v2${model === '' ? '' : `/models/${model}`}/trace/setting`;
    const start = { trace_level: ['OFF'], trace_rate: '1000', trace_count: '-1', trace_mode: 'opentelemetry' };
    expect(await callJson(setting())).toEqual([200, start]);
    await infer(server.http, 'simple', 'off', SAMPLED);
    const changed = { trace_level: ['TIMESTAMPS'], trace_rate: '2', trace_count: '2' };
    expect(await callJson(setting(), changed)).toEqual([200, { ...start, ...changed }]);
    for (let i = 1; i <= 8; i++) await infer(server.http, 'simple', `s${i}`);
    await infer(server.http, 'simple', 'forced', SAMPLED);
    await spans.ended(3);
    expect(spans.requests).toEqual(['s2', 's4', 'forced']);
    expect(await grpc.call('TraceSetting', {})).toEqual({
      settings: {
        trace_level: { value: ['TIMESTAMPS'] },
        trace_rate: { value: ['2'] },
        trace_count: { value: ['0'] },
        trace_mode: { value: ['opentelemetry'] },
      },
    });
    await grpc.call('TraceSetting', {
      model_name: 'other',
      settings: { trace_rate: { value: ['1'] }, trace_count: { value: ['1'] } },
    });
    for (const id of ['o1', 'o2']) await infer(server.http, 'other', id);
    await infer(server.http, 'simple', 's9');
    await callJson(setting(), { trace_level: null });
    await infer(server.http, 'simple', 'off again', SAMPLED);
    await callJson(setting('simple'), { trace_level: ['TIMESTAMPS'], trace_rate: '1', trace_count: '-1' });
    await infer(server.http, 'simple', 's10');
    await spans.ended(5);
    expect(spans.requests.slice(3)).toEqual(['o1', 's10']);
    expect(await callJson(setting(), { trace_level: ['TENSORS'] })).toEqual([
      400,
      {
        error:
          'Attempting to set invalid trace setting :mode opentelemetry has the levels OFF and TIMESTAMPS, got TENSORS',
      },
    ]);
  });
});

it('requests are not traced without traceConfig, even when their callers are', async () => {
  await using spans = new SpanRecorder();
  const seen: Seen[] = [];
  await using server = await startServer((triton) => {
    triton.bind({
      ...number,
      inferFunc: (requests, context) => {
        seen.push(seenBy(requests, context));
        return requests;
      },
    });
  });
  await infer(server.http, 'Number', 'q', SAMPLED);
  expect(seen).toEqual([{ batch: undefined, requests: [undefined], active: undefined }]);
  expect(spans.requests).toEqual([]);
});

it('without the package a server that is to trace does not start, and says what is missing', () => {
  const hide = `export function resolve(name, context, next) {
    if (name === '@opentelemetry/api') throw new Error('Cannot find package');
    return next(name, context);
  }`;
  const dataUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
  const hiding = dataUrl(`import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hide))});`);
  const code = `
    import { Triton } from 'tstriton';
    const off = { httpPort: 0, grpcPort: 0, metricsPort: 0, logFile: '/dev/null' };
    await using plain = new Triton(off);
    await plain.run();
    await plain.stop();
    await new Triton({ ...off, traceConfig: 'mode=opentelemetry' }).run().catch((error) => console.log(error.code, error.message));
  `.replace('await using', 'const');
  // Newer versions of Node warn of `register`, older ones have nothing else.
  const flags = ['--disable-warning=DEP0205', '--import', hiding, '--input-type=module', '-e', code];
  const { stdout, stderr } = spawnSync(process.execPath, flags, {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    timeout: WAIT_MILLISECONDS,
  });
  expect(`${stdout}${stderr}`).toBe(
    'UNSUPPORTED traceConfig with mode=opentelemetry needs the package @opentelemetry/api, which could not be loaded: Cannot find package\n',
  );
});
