// The error that an HTTP answer stands for: the server's own message, and the code that status and message tell.

import type { TritonError } from '../../errors.js';
import { parseJson } from '../../protocol/json/json-parser.js';
import { JsonObject } from '../../protocol/json/json-value.js';
import { codeOfHttpStatus, refusal } from '../refusal.js';
import { adviceOfHttpStatus, withRetryAdvice } from '../retry-advice.js';

const LONGEST_TEXT = 1024;

export interface FailedAnswer {
  readonly status: number;
  readonly headers: { readonly 'retry-after'?: string | undefined };
  readonly body: Buffer;
}

/** For any answer but 200. */
export function httpError({ status, headers, body }: FailedAnswer, address: string): TritonError {
  const message = serverMessage(body) ?? describe(status, body, address);
  const error = refusal(codeOfHttpStatus(status), message, status);
  return withRetryAdvice(error, adviceOfHttpStatus(status, message, headers['retry-after']));
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
