// Makes the spans of traced requests, with the OpenTelemetry that is set up in the callable's thread. `InferRequest` lasts
// from arrival to answer, and has the children `queue` and `compute`. The server's thread only says which requests are
// traced, and when they came.

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { HostedRequest } from '../model/inference-request.js';
import type { Logger } from '../observability/logger.js';
import type { Span, SpanAttributes } from '../observability/span.js';
import {
  type BatchTraces,
  type EndedTrace,
  parseTraceparent,
  type StartedTrace,
  type TraceContext,
  traceparentText,
} from '../observability/traces.js';
import { BatchSpans } from './batch-spans.js';
import {
  type ActiveContext,
  makeSpans,
  type OpenTelemetry,
  SERVER_SPAN,
  setFailed,
  type Tracer,
} from './opentelemetry.js';

/** A batch with at least one traced request. */
export interface TracedBatch {
  readonly config: CompleteModelConfig;
  readonly requests: readonly HostedRequest[];
  readonly traces: BatchTraces;
  /** Gets a warning when spans fail. */
  readonly logger: Logger;
}

/** The attributes of a request's span. */
interface TracedModel {
  readonly name: string;
  readonly version: number;
}

type TracedRequest = Pick<HostedRequest, 'id' | 'sequence'>;

export class RequestTracing {
  readonly #api: OpenTelemetry;

  constructor(api: OpenTelemetry) {
    this.#api = api;
  }

  /** Opens the spans of a batch just before its callable runs. Returns undefined when that fails. */
  begin(batch: TracedBatch): BatchSpans | undefined {
    return makeSpans(batch.logger, () => this.#begin(batch));
  }

  #begin({ config, requests, traces, logger }: TracedBatch): BatchSpans {
    const tracer = this.#tracer;
    const spans = requests.map((request, index) => {
      const trace = traces.requests[index];
      if (trace === undefined) return undefined;
      const span = this.#startRequest(tracer, trace, config, request);
      this.#waited(tracer, span, trace.startedAt, traces.dispatchedAt);
      request.span = span;
      return span;
    });
    const rows = requests.reduce((sum, request) => sum + request.rows, 0);
    return new BatchSpans(this.#api, tracer, { config, spans, rows, logger });
  }

  /** Makes the spans of requests that ended without a callable. */
  recordEnded(ended: readonly EndedTrace[], logger: Logger): void {
    makeSpans(logger, () => this.#recordEnded(ended));
  }

  #recordEnded(ended: readonly EndedTrace[]): void {
    const tracer = this.#tracer;
    for (const trace of ended) {
      const { outcome, endedAt } = trace;
      const model = { name: trace.modelName, version: trace.modelVersion };
      const span = this.#startRequest(tracer, trace, model, { id: trace.requestId, sequence: trace.sequence });
      if (outcome.kind === 'cached') {
        span.setAttribute('tstriton.cache_hit', true);
      } else {
        if (outcome.queued) this.#waited(tracer, span, trace.startedAt, endedAt);
        setFailed(span, outcome);
      }
      span.end(endedAt);
    }
  }

  /** The trace of the running code: its active span, or `span` where no span is active. */
  carried(span: Span | undefined): TraceContext | undefined {
    const { context, trace } = this.#api;
    const active = trace.getSpanContext(context.active()) ?? span?.spanContext();
    if (active === undefined) return undefined;
    const { traceId, spanId, traceFlags: flags, traceState } = active;
    return { traceparent: traceparentText({ traceId, spanId, flags }), tracestate: traceState?.serialize() };
  }

  /** The tracer of the provider that is registered by now. */
  get #tracer(): Tracer {
    return this.#api.trace.getTracer('tstriton');
  }

  #startRequest(
    tracer: Tracer,
    { context, startedAt }: StartedTrace,
    model: TracedModel,
    { id, sequence }: TracedRequest,
  ): Span {
    const attributes: SpanAttributes = { 'triton.model_name': model.name, 'triton.model_version': model.version };
    if (id !== '') attributes['triton.request_id'] = id;
    if (sequence !== undefined) {
      // An id may be a number beyond 2^53, which no attribute can be.
      attributes['tstriton.sequence.id'] = String(sequence.id);
      attributes['tstriton.sequence.start'] = sequence.start;
      attributes['tstriton.sequence.end'] = sequence.end;
    }
    const start = { kind: SERVER_SPAN, startTime: startedAt, attributes };
    return tracer.startSpan('InferRequest', start, this.#parentOf(context));
  }

  #waited(tracer: Tracer, span: Span, from: number, until: number): void {
    const { ROOT_CONTEXT, trace } = this.#api;
    tracer.startSpan('queue', { startTime: from }, trace.setSpan(ROOT_CONTEXT, span)).end(Math.max(from, until));
  }

  /** The caller's span in another process, or nothing. It is never the span that is active here. */
  #parentOf(context: TraceContext | undefined): ActiveContext {
    const { ROOT_CONTEXT, trace, createTraceState } = this.#api;
    const parent = context && parseTraceparent(context.traceparent);
    if (parent === undefined) return ROOT_CONTEXT;
    const { traceId, spanId, flags: traceFlags } = parent;
    const traceState = context?.tracestate === undefined ? {} : { traceState: createTraceState(context.tracestate) };
    return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true, ...traceState });
  }
}
