import { setTimeout as delay } from 'node:timers/promises';
import * as api from '@opentelemetry/api';
import { NodeTracerProvider, SamplingDecision } from '@opentelemetry/sdk-trace-node';
import { describe, expect, it, vi } from 'vitest';

import { activeSpanId, SpanRecorder } from '../../test/support/spans.js';
import { TritonError } from '../errors.js';
import { completeModelConfig } from '../model/complete-model.js';
import { HostedRequest } from '../model/inference-request.js';
import type { EndedTrace, StartedTrace } from '../observability/traces.js';
import { RequestTracing } from './request-tracing.js';

const TENSOR = { dtype: 'int32', shape: [1] } as const;
const CONFIG = completeModelConfig(
  { modelName: 'm', modelVersion: 2, inputs: { x: TENSOR }, outputs: { y: TENSOR } },
  1,
);
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const EARLIER = Date.now() - 1000;
const TRACED: StartedTrace = { context: undefined, startedAt: EARLIER };
const CALLED: StartedTrace = { context: { traceparent: PARENT, tracestate: 'a=1,b=2' }, startedAt: EARLIER };

const tracing = new RequestTracing(api);
const warn = vi.fn<(message: string) => void>();
const logger = { error: () => undefined, warn, info: () => undefined, verbose: () => undefined };

/** The spans of a batch of requests called `r0`, `r1`, …, of which those with a trace are traced. */
function begin(...traces: readonly (StartedTrace | undefined)[]) {
  const requests = traces.map((_, index) => new HostedRequest({}, 2, `r${index}`, undefined));
  const batch = tracing.begin({
    config: CONFIG,
    requests,
    traces: { dispatchedAt: EARLIER + 400, requests: traces },
    logger,
  });
  return { batch: batch!, requests };
}

const ended = (outcome: EndedTrace['outcome'], trace = TRACED): EndedTrace => ({
  ...trace,
  modelName: 'm',
  modelVersion: 2,
  requestId: '',
  endedAt: EARLIER + 30,
  outcome,
});

describe('the spans of a batch', () => {
  it('are timed by what the server says of the requests', async () => {
    await using spans = new SpanRecorder();
    begin(CALLED).batch.finish([[]]);
    expect(spans.one('queue')).toMatchObject({ start: EARLIER, end: EARLIER + 400 });
    expect(spans.one('InferRequest')).toMatchObject({ start: EARLIER, traceState: 'a=1,b=2' });
    expect(spans.one('compute').attributes).toEqual({
      'triton.model_name': 'm',
      'triton.model_version': 2,
      'tstriton.batch.requests': 1,
      'tstriton.batch.rows': 2,
    });
  });

  it('are in no trace that happens to be active', async () => {
    await using spans = new SpanRecorder();
    const { tracer } = { tracer: api.trace.getTracer('test') };
    tracer.startActiveSpan('around', (around) => {
      begin(TRACED, TRACED).batch.finish([[], []]);
      around.end();
    });
    const roots = [spans.one('batch'), ...spans.named('InferRequest')];
    expect(roots.map(({ parentId }) => parentId)).toEqual([undefined, undefined, undefined]);
    expect(new Set([...roots, spans.one('around')].map(({ traceId }) => traceId)).size).toBe(4);
  });

  it('are those of the requests that are traced only', async () => {
    await using spans = new SpanRecorder();
    const { batch, requests } = begin(undefined, TRACED, undefined, TRACED);
    expect(requests.map(({ span }) => span !== undefined)).toEqual([false, true, false, true]);
    batch.finish([[], [], [], []]);
    expect(spans.requests).toEqual(['r1', 'r3']);
    expect(spans.one('batch').links).toHaveLength(2);
  });

  it('fail each with its own error, and the batch when all of them fail', async () => {
    await using spans = new SpanRecorder();
    const error = new TritonError('NOT_FOUND', 'nothing there');
    begin(TRACED, TRACED).batch.finish([[], error]);
    expect(spans.named('compute').map(({ events }) => events)).toEqual([[], ['TritonError: nothing there']]);
    expect(spans.named('InferRequest').map(({ status }) => status.code)).toEqual([0, 2]);
    expect(spans.one('batch')).toMatchObject({ status: { code: 0 }, events: [] });
    begin(TRACED, TRACED).batch.finish([error, error]);
    expect(spans.named('batch')[1]).toMatchObject({ status: { code: 2 }, events: ['TritonError: nothing there'] });
  });

  it('record what was thrown, not what it was made into', async () => {
    await using spans = new SpanRecorder();
    begin(TRACED).batch.finish([TritonError.from(new RangeError('no such row'))]);
    expect(spans.one('compute')).toMatchObject({
      events: ['RangeError: no such row'],
      attributes: { 'error.type': 'INTERNAL' },
    });
  });

  it('end once, however often they are told to', async () => {
    await using spans = new SpanRecorder();
    const { batch } = begin(TRACED);
    batch.ended(0, undefined);
    batch.ended(0, new TritonError('INTERNAL', 'too late'));
    batch.cancelled(0);
    batch.responded(0);
    batch.finish([new TritonError('INTERNAL', 'too late')]);
    expect(spans.one('InferRequest')).toMatchObject({ status: { code: 0 }, events: [] });
    expect(spans.one('compute').status.code).toBe(0);
  });

  it('are active in the callable, over what it waits for, and nowhere else', async () => {
    await using _spans = new SpanRecorder();
    const { batch } = begin(TRACED);
    const seen: (string | undefined)[] = [];
    const running = batch.inside(async () => {
      seen.push(activeSpanId());
      await delay(1);
      seen.push(activeSpanId());
    });
    seen.push(activeSpanId());
    await running;
    const { spanId } = batch.span.spanContext();
    expect(seen).toEqual([spanId, undefined, spanId]);
    batch.finish([[]]);
  });

  it('are left to the sampler of the provider', async () => {
    const sampler = {
      shouldSample: (...[, , name]: readonly unknown[]) => ({
        decision: name === 'InferRequest' ? SamplingDecision.NOT_RECORD : SamplingDecision.RECORD_AND_SAMPLED,
      }),
      toString: () => 'none of the requests',
    };
    await using spans = new SpanRecorder({ sampler });
    const { batch, requests } = begin(TRACED);
    expect(requests[0]!.span!.isRecording()).toBe(false);
    batch.finish([[]]);
    expect(spans.requests).toEqual([]);
  });
});

describe('the trace of a call', () => {
  it('is that of the active span, else of the batch, else none', async () => {
    await using _spans = new SpanRecorder();
    expect(tracing.carried(undefined)).toBeUndefined();
    const { batch } = begin(CALLED);
    const textOf = ({ traceId, spanId }: api.SpanContext) => `00-${traceId}-${spanId}-01`;
    const own = { traceparent: textOf(batch.span.spanContext() as api.SpanContext), tracestate: 'a=1,b=2' };
    expect(tracing.carried(batch.span)).toEqual(own);
    expect(batch.inside(() => tracing.carried(undefined))).toEqual(own);
    batch.inside(() =>
      api.trace.getTracer('test').startActiveSpan('own', (span) => {
        expect(tracing.carried(batch.span)!.traceparent).toBe(textOf(span.spanContext()));
        span.end();
      }),
    );
    batch.finish([[]]);
  });

  it('is that of the batch where no context is carried along', () => {
    const { batch } = begin(TRACED);
    expect(batch.inside(() => tracing.carried(batch.span)!.traceparent)).toMatch(/^00-0{32}-0{16}-00$/);
    batch.finish([[]]);
  });
});

describe('requests that ended without a callable', () => {
  it.each<[what: string, outcome: EndedTrace['outcome'], attributes: object, children: number]>([
    ['from the cache', { kind: 'cached' }, { 'tstriton.cache_hit': true }, 0],
    [
      'refused',
      { kind: 'failed', queued: false, code: 'INVALID_ARG', message: 'no' },
      { 'error.type': 'INVALID_ARG' },
      0,
    ],
    [
      'timed out in the queue',
      { kind: 'failed', queued: true, code: 'UNAVAILABLE', message: 'Request timeout expired' },
      { 'error.type': 'UNAVAILABLE' },
      1,
    ],
  ])('have their span afterwards: %s', async (_what, outcome, attributes, children) => {
    await using spans = new SpanRecorder();
    tracing.recordEnded([ended(outcome, CALLED)], logger);
    const model = { 'triton.model_name': 'm', 'triton.model_version': 2 };
    const times = { start: EARLIER, end: EARLIER + 30 };
    expect(spans.one('InferRequest')).toMatchObject({ ...times, parentId: 'b7ad6b7169203331' });
    expect(spans.one('InferRequest').attributes).toEqual({ ...model, ...attributes });
    expect(spans.named('queue')).toHaveLength(children);
    for (const queue of spans.named('queue')) expect(queue).toMatchObject(times);
  });
});

describe('a provider whose processor throws', () => {
  const fault = (message: string) => () => {
    throw new Error(message);
  };
  const processor = { forceFlush: () => Promise.resolve(), shutdown: () => Promise.resolve() };

  it.each([
    ['no memory', { onStart: fault('no memory'), onEnd: () => undefined }],
    ['disk full', { onStart: () => undefined, onEnd: fault('disk full') }],
  ])('(%s) costs spans and one line of the log, and nothing else', (message, handlers) => {
    warn.mockClear();
    const broken = new NodeTracerProvider({ spanProcessors: [{ ...processor, ...handlers }] });
    broken.register();
    try {
      for (let i = 0; i < 3; i++) begin(TRACED, TRACED).batch?.finish([[], []]);
      tracing.recordEnded([ended({ kind: 'cached' })], logger);
      expect(warn.mock.calls).toEqual([[`OpenTelemetry failed, spans are lost: ${message}`]]);
    } finally {
      api.trace.disable();
      api.context.disable();
      api.propagation.disable();
    }
  });
});
