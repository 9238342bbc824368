// Loads @opentelemetry/api, and declares the shape of the parts in use. It is an optional peer: only users who ask for
// traces have it. It is an interface without an implementation: spans come from the provider that the user registered in
// the same thread. Without a provider they go nowhere.

import { type ErrorCode, TritonError } from '../errors.js';
import type { Logger } from '../observability/logger.js';
import type { Span, SpanAttributes, SpanContext, SpanLink, SpanTime, SpanTraceState } from '../observability/span.js';

/** The context that asynchronous calls carry along: the active span, among other things. */
export interface ActiveContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): ActiveContext;
  deleteValue(key: symbol): ActiveContext;
}

export interface SpanStart {
  kind?: number;
  attributes?: SpanAttributes;
  links?: SpanLink[];
  startTime?: SpanTime;
  root?: boolean;
}

export interface Tracer {
  startSpan(name: string, options?: SpanStart, context?: ActiveContext): Span;
}

/** A value of OpenTelemetry's `SpanKind`, whose default is INTERNAL. */
export const SERVER_SPAN = 1;

export interface OpenTelemetry {
  readonly ROOT_CONTEXT: ActiveContext;
  readonly trace: {
    getTracer(name: string, version?: string): Tracer;
    setSpan(context: ActiveContext, span: Span): ActiveContext;
    setSpanContext(context: ActiveContext, spanContext: SpanContext): ActiveContext;
    getSpanContext(context: ActiveContext): SpanContext | undefined;
  };
  readonly context: {
    active(): ActiveContext;
    with<Result>(context: ActiveContext, fn: () => Result): Result;
  };
  readonly createTraceState: (text?: string) => SpanTraceState;
}

const PACKAGE = '@opentelemetry/api';

/** Loads the API. Rejects with UNSUPPORTED, naming the package, when it is not installed. */
export async function loadOpenTelemetry(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<OpenTelemetry> {
  try {
    return (await load(PACKAGE)) as OpenTelemetry;
  } catch (cause) {
    throw new TritonError(
      'UNSUPPORTED',
      `traceConfig with mode=opentelemetry needs the package ${PACKAGE}, which could not be loaded: ${TritonError.from(cause).message}`,
      { cause },
    );
  }
}

// The user's provider and its processors may throw. Such an error costs spans, but never a request. These functions catch
// it, and mark the spans of failed work.

const ERROR = 2;

/** The last failure in this thread. One that comes with each request is logged once. */
let lastFailure: string | undefined;

/** Calls `make`, which makes or ends spans. When it fails, logs a warning and returns undefined. */
export function makeSpans<Result>(logger: Pick<Logger, 'warn'>, make: () => Result): Result | undefined {
  try {
    return make();
  } catch (error) {
    const { message } = TritonError.from(error);
    if (message !== lastFailure) logger.warn(`OpenTelemetry failed, spans are lost: ${message}`);
    lastFailure = message;
    return undefined;
  }
}

export function setFailed(span: Span, { code, message }: { readonly code: ErrorCode; readonly message: string }): void {
  span.setAttribute('error.type', code);
  // Cancelled requests have no message.
  span.setStatus({ code: ERROR, message: message === '' ? code : message });
}

/** Marks a span as failed, and records the thrown error, which has the useful stack. */
export function setFailedBy(span: Span, error: TritonError): void {
  const { name, message, stack } = error.cause instanceof Error ? error.cause : error;
  span.recordException({ name, message, ...(stack === undefined ? {} : { stack }) });
  setFailed(span, error);
}
