// What an error says about sending the request again. An error without advice is final.

import type { TritonError } from '../errors.js';

export interface RetryAdvice {
  /** The server has not executed the request: to send it again does nothing twice. */
  readonly unexecuted: boolean;
  /** When the server wants to be asked again. */
  readonly delayMs?: number | undefined;
}

const ADVICE = new WeakMap<TritonError, RetryAdvice>();

/** Returns the error. */
export function withRetryAdvice<E extends TritonError>(error: E, advice: RetryAdvice | undefined): E {
  if (advice !== undefined) ADVICE.set(error, advice);
  return error;
}

export function retryAdviceOf(error: TritonError): RetryAdvice | undefined {
  return ADVICE.get(error);
}

/** In Triton's words, and ours: what servers say in place of executing a request. */
const UNEXECUTED = [
  /^(\[request id: [^\]]*\] )?Exceeds maximum queue size$/,
  /^(\[request id: [^\]]*\] )?Server is stopping, scheduler for model has stopped accepting new inference requests$/,
  /^Request for unknown model: '[^']*' version \d+ is not at ready state$/,
  /^Server not ready$/,
  /^GRPC server is shutting down and has stopped accepting new requests\.$/,
];

/** What is over for this request, or will not change. */
const FINAL = [/^Request timeout expired$/, /^This protocol is restricted/];

/** Of a server that answered that it is not available; `delayMs` if it says when it will be. */
export function adviceOfRefusal(message: string, delayMs: number | undefined): RetryAdvice | undefined {
  if (FINAL.some((text) => text.test(message))) return undefined;
  // To say when is to ask for the request again.
  return { unexecuted: delayMs !== undefined || UNEXECUTED.some((text) => text.test(message)), delayMs };
}

/** The same for an answer of HTTP. */
export function adviceOfHttpStatus(
  status: number,
  message: string,
  retryAfter: string | undefined,
): RetryAdvice | undefined {
  switch (status) {
    case 429: // Too many requests: one more was not taken.
      return { unexecuted: true, delayMs: parseRetryAfter(retryAfter, Date.now()) };
    case 502:
    case 504:
      return { unexecuted: false };
    case 503:
      return adviceOfRefusal(message, parseRetryAfter(retryAfter, Date.now()));
    default:
      return undefined;
  }
}

/** The milliseconds of a Retry-After header, seconds or a date (RFC 9110, section 10.2.3); undefined for anything else. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(date - nowMs, 0);
}
