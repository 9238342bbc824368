// The spans of one batch while its callable runs. With one traced request the batch's span is that request's `compute`, so
// that the callable's work belongs to the request's trace. With several traced requests the batch's span, `batch`, is a
// root of its own, because it cannot be in all their traces. It links to each request, and each `compute` links to it.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { Logger } from '../observability/logger.js';
import type { Span } from '../observability/span.js';
import { epochNow } from '../observability/traces.js';
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
  /** Each request's span, by its place; undefined for a request that is not traced. At least one request is. */
  readonly spans: readonly (Span | undefined)[];
  readonly rows: number;
  /** Gets a warning when spans fail. */
  readonly logger: Logger;
}

export class BatchSpans {
  /** The span of the batch. */
  readonly span: Span;
  readonly #requests: (TracedRequest | undefined)[];
  /** Whether the batch's span is a root of its own, and not a request's `compute`. */
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

  /** Notes that the client of request `index` is gone. */
  cancelled(index: number): void {
    makeSpans(this.#logger, () => this.#requests[index]?.span.addEvent('cancelled', epochNow()));
  }

  /** Notes an answer to request `index` of a decoupled model. */
  responded(index: number): void {
    const request = this.#requests[index];
    if (request === undefined || request.responses++ > 0) return;
    makeSpans(this.#logger, () => request.span.addEvent('first response', epochNow()));
  }

  /** Ends the spans of request `index`, which has its outcome. */
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

  /** Ends the batch's span when the callable is done. Requests that have not ended end with these results. */
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
