// The spans of one batch while its callable runs. Of one traced request the batch's span is that request's `compute`,
// so that what the callable does belongs to the request's trace. Of several it can be in the trace of none of them: it
// is a root of its own, `batch`, linked to each request, and each request's `compute` is linked to it.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { Logger } from '../model/logger.js';
import type { Span } from '../model/span.js';
import { epochNow } from '../model/traces.js';
import type { HostResult } from './host-results.js';
import {
  type ActiveContext,
  makeSpans,
  type OpenTelemetry,
  setFailed,
  setFailedBy,
  type Tracer,
} from './opentelemetry.js';

interface TracedRequest {
  readonly span: Span;
  readonly compute: Span;
  responses: number;
}

export interface SpannedBatch {
  readonly config: CompleteModelConfig;
  /** By the requests' places; undefined for those that are not traced. At least one is. */
  readonly spans: readonly (Span | undefined)[];
  readonly rows: number;
  /** Told of what goes wrong with spans. */
  readonly logger: Logger;
}

export class BatchSpans {
  /** The span of the batch. */
  readonly span: Span;
  readonly #requests: (TracedRequest | undefined)[];
  /** Whether the batch's span is that of no request. */
  readonly #isRoot: boolean;
  readonly #config: CompleteModelConfig;
  readonly #logger: Logger;
  readonly #api: OpenTelemetry;
  readonly #active: ActiveContext;

  constructor(api: OpenTelemetry, tracer: Tracer, { config, spans, rows, logger }: SpannedBatch) {
    const { ROOT_CONTEXT, trace } = api;
    const startTime = epochNow();
    const traced = spans.filter((span) => span !== undefined);
    const within = (span: Span) => trace.setSpan(ROOT_CONTEXT, span);
    const attributes = {
      'triton.model_name': config.name,
      'triton.model_version': config.version,
      'tstriton.batch.requests': spans.length,
      'tstriton.batch.rows': rows,
    };
    const alone = traced.length === 1 ? traced[0] : undefined;
    this.span =
      alone === undefined
        ? tracer.startSpan(
            'batch',
            { root: true, startTime, attributes, links: traced.map((span) => ({ context: span.spanContext() })) },
            ROOT_CONTEXT,
          )
        : tracer.startSpan('compute', { startTime, attributes }, within(alone));
    const links = [{ context: this.span.spanContext() }];
    this.#requests = spans.map(
      (span) =>
        span && {
          span,
          compute: span === alone ? this.span : tracer.startSpan('compute', { startTime, links }, within(span)),
          responses: 0,
        },
    );
    this.#isRoot = alone === undefined;
    this.#config = config;
    this.#logger = logger;
    this.#api = api;
    this.#active = within(this.span);
  }

  /** Runs a part of the callable, with the batch's span as the active one. */
  readonly inside = <Result>(fn: () => Result): Result => this.#api.context.with(this.#active, fn);

  /** The client of request `index` is gone. */
  cancelled(index: number): void {
    makeSpans(this.#logger, () => this.#requests[index]?.span.addEvent('cancelled', epochNow()));
  }

  /** Request `index` of a decoupled model has an answer. */
  responded(index: number): void {
    const request = this.#requests[index];
    if (request === undefined || request.responses++ > 0) return;
    makeSpans(this.#logger, () => request.span.addEvent('first response', epochNow()));
  }

  /** Request `index` has its outcome. */
  ended(index: number, error: TritonError | undefined): void {
    const request = this.#requests[index];
    if (request === undefined) return;
    this.#requests[index] = undefined;
    makeSpans(this.#logger, () => this.#end(request, error));
  }

  #end({ span, compute, responses }: TracedRequest, error: TritonError | undefined): void {
    const now = epochNow();
    if (error !== undefined) {
      setFailedBy(compute, error);
      setFailed(span, error);
    }
    if (this.#config.decoupled) span.setAttribute('tstriton.responses', responses);
    compute.end(now);
    span.end(now);
  }

  /** The callable is done with the batch: its requests that have not ended end by these results. */
  finish(results: readonly HostResult[]): void {
    for (let index = 0; index < results.length; index++) {
      const result = results[index]!;
      this.ended(index, TritonError.is(result) ? result : undefined);
    }
    if (this.#isRoot) makeSpans(this.#logger, () => this.#endRoot(results));
  }

  #endRoot(results: readonly HostResult[]): void {
    const [first] = results;
    if (TritonError.is(first) && results.every((result) => TritonError.is(result))) setFailedBy(this.span, first);
    this.span.end(epochNow());
  }
}
