// What an error says about sending the request again. An error without advice is final.

import type { TritonError } from '../errors.js';
import { provesUnexecuted } from '../model/unexecuted.js';

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

/** These refusals do not pass. */
const FINAL = [/^Request timeout expired$/, /^This protocol is restricted/, /^(Received|Sent) message larger than max/];

/**
 * Of a server that answered that it is not available. `delayMs`: when it wants to be asked again, which proves nothing: proxies and
 * models say that of executed requests too.
 */
export function adviceOfRefusal(message: string, delayMs: number | undefined): RetryAdvice | undefined {
  if (FINAL.some((text) => text.test(message))) return undefined;
  return { unexecuted: provesUnexecuted(message), delayMs };
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
    case 404: // A server that stops has unloaded the model.
      return provesUnexecuted(message) ? { unexecuted: true } : undefined;
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
