// How a span says that what it stands for has failed.

import type { ErrorCode, TritonError } from '../errors.js';
import type { Span } from '../model/span.js';

const ERROR = 2;

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
