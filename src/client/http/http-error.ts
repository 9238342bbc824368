// The error that an HTTP answer stands for: the server's own message, and the code that status and message tell.

import type { TritonError } from '../../errors.js';
import { parseJson } from '../../protocol/json/json-parser.js';
import { JsonObject } from '../../protocol/json/json-value.js';
import type { AnswerHeaders } from './http-wire.js';
import { codeOfHttpStatus, refusal } from '../refusal.js';
import { adviceOfHttpStatus, withRetryAdvice } from '../retry-advice.js';

const LONGEST_TEXT = 1024;
/** What Triton answers to a path that it does not serve: it names neither the path nor the server. */
const NO_SUCH_PATH = 'Not Found';

export interface FailedAnswer {
  readonly status: number;
  readonly headers: Pick<AnswerHeaders, 'content-encoding' | 'location' | 'retry-after'>;
  readonly body: Buffer;
}

/** The client asks for no compressed answer, and reads none. Some gateways compress all the same. */
export function codingOf({ 'content-encoding': coding }: Pick<AnswerHeaders, 'content-encoding'>): string | undefined {
  return coding === 'identity' ? undefined : coding?.slice(0, LONGEST_TEXT);
}

/** For any answer but 200, and for one of 200 in a content encoding. */
export function httpError(answer: FailedAnswer, address: string): TritonError {
  const { status, headers, body } = answer;
  const told = codingOf(headers) === undefined ? serverMessage(body) : undefined;
  const message =
    told === undefined || told === NO_SUCH_PATH
      ? `${address} answered with HTTP status ${status}${detail(answer)}`
      : told;
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
function detail({ status, headers, body }: FailedAnswer): string {
  const { location } = headers;
  // To follow it would send the token to another server.
  if (location !== undefined && status >= 300 && status < 400)
    return `, a redirect to ${location.slice(0, LONGEST_TEXT)}, which is not followed`;
  const coding = codingOf(headers);
  if (coding !== undefined) return ` in the content encoding ${coding}, which the client did not ask for`;
  const text = body.toString('utf8', 0, LONGEST_TEXT).trim();
  return text === '' ? '' : `: ${text}`;
}
