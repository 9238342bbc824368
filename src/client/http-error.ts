// The error that an HTTP answer stands for: the server's own message, and the code that its status came from as far as
// the status tells.

import { TritonError, type ErrorCode } from '../errors.js';
import { parseJson } from '../protocol/json/json-parser.js';
import { JsonObject } from '../protocol/json/json-value.js';
import { adviceOfHttpStatus, withRetryAdvice } from './retry-advice.js';

// Triton's own statuses, and those of proxies on the way. Several of Triton's codes share 400.
const CODE_OF_HTTP_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_ARG',
  401: 'UNKNOWN',
  403: 'UNKNOWN',
  404: 'NOT_FOUND',
  405: 'UNSUPPORTED',
  408: 'UNAVAILABLE',
  413: 'INVALID_ARG',
  415: 'UNSUPPORTED',
  429: 'UNAVAILABLE',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNSUPPORTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

const LONGEST_TEXT = 1024;

export interface FailedAnswer {
  readonly status: number;
  readonly headers: { readonly 'retry-after'?: string | undefined };
  readonly body: Buffer;
}

/** For any answer but 200. */
export function httpError({ status, headers, body }: FailedAnswer, address: string): TritonError {
  const message = serverMessage(body) ?? describe(status, body, address);
  const error = new TritonError(codeOf(status), message);
  return withRetryAdvice(error, adviceOfHttpStatus(status, message, headers['retry-after']));
}

function codeOf(status: number): ErrorCode {
  return CODE_OF_HTTP_STATUS[status] ?? (status >= 500 ? 'INTERNAL' : status >= 400 ? 'INVALID_ARG' : 'UNKNOWN');
}

// Triton sends {"error":"…"}.
function serverMessage(body: Buffer): string | undefined {
  try {
    const json = parseJson(body);
    const error = json instanceof JsonObject ? json.get('error') : undefined;
    return typeof error === 'string' && error !== '' ? error : undefined;
  } catch {
    return undefined;
  }
}

// A proxy may send anything.
function describe(status: number, body: Buffer, address: string): string {
  const text = body.toString('utf8', 0, LONGEST_TEXT).trim();
  return `${address} answered with HTTP status ${status}${text === '' ? '' : `: ${text}`}`;
}
