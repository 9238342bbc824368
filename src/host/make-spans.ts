// Spans as the user's provider takes them: it and its processors may throw, which costs spans, never a request; and how a
// span says that what it stands for has failed.

import { TritonError, type ErrorCode } from '../errors.js';
import type { Logger } from '../model/logger.js';
import type { Span } from '../model/span.js';

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
