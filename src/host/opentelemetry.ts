// What is used of @opentelemetry/api, by its shape, and the loading of it: an optional peer, which only those have who
// asked for traces. It is an interface without an implementation: spans come from the provider that the user registered
// in the same thread, and go nowhere when there is none.

import { type ErrorCode, TritonError } from '../errors.js';
import type { Logger } from '../model/logger.js';
import type { Span, SpanAttributes, SpanContext, SpanLink, SpanTime, SpanTraceState } from '../model/span.js';

/** What is carried along asynchronous calls: the active span, among other things. */
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

/** Of OpenTelemetry's `SpanKind`; the default is INTERNAL. */
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

/** Rejects with UNSUPPORTED, naming the package, when it is not installed. */
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

const ERROR = 2;

/** Runs what makes or ends spans. Undefined when that failed, which the log tells. */
export function makeSpans<Result>(logger: Pick<Logger, 'warn'>, make: () => Result): Result | undefined {
  try {
    return make();
  } catch (error) {
    logger.warn(`OpenTelemetry failed, spans are lost: ${TritonError.from(error).message}`);
    return undefined;
  }
}

export function setFailed(span: Span, { code, message }: { readonly code: ErrorCode; readonly message: string }): void {
  span.setAttribute('error.type', code);
  // Cancelled requests have no message.
  span.setStatus({ code: ERROR, message: message === '' ? code : message });
}

/** With what was thrown, which has the stack that is of use. */
export function setFailedBy(span: Span, error: TritonError): void {
  const { name, message, stack } = error.cause instanceof Error ? error.cause : error;
  span.recordException({ name, message, ...(stack === undefined ? {} : { stack }) });
  setFailed(span, error);
}
