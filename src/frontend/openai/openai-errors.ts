// Errors in the form of the OpenAI API, which its clients turn into exceptions by status: `{"error":{"message":…,"type":…}}`.

import { type ErrorCode, HTTP_STATUS, TritonError } from '../../errors.js';
import { type HttpExchange, type HttpHeaders, RETRY_AFTER_SECONDS } from '../../http1/http-exchange.js';
import { answerJson } from '../http/answers.js';

/** A request was refused because of one of its fields. */
export class FieldError extends TritonError {
  readonly param: string;
  /** The API's own code; null where it has none. */
  readonly apiCode: string | null;

  constructor(param: string, message: string, { code = 'INVALID_ARG', apiCode = null }: FieldErrorOptions = {}) {
    super(code, message);
    this.param = param;
    this.apiCode = apiCode;
  }
}

interface FieldErrorOptions {
  readonly code?: ErrorCode;
  readonly apiCode?: string | null;
}

/** The members of an error's JSON. */
export function errorMembers(thrown: unknown): object {
  const error = TritonError.from(thrown);
  const [param, code] = error instanceof FieldError ? [error.param, error.apiCode] : [null, null];
  return { error: { message: error.message, type: typeOf(HTTP_STATUS[error.code]), param, code } };
}

/** The JSON of the refusal of a body. */
export function refusalText(status: number, message: string): string {
  return JSON.stringify({ error: { message, type: typeOf(status), param: null, code: null } });
}

function typeOf(status: number): string {
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** `refused`: the request was turned away before it ran, so that the client may send it again. */
export function answerOpenAiError(exchange: HttpExchange, thrown: unknown, refused = false): void {
  const { code } = TritonError.from(thrown);
  const headers: HttpHeaders = refused && code === 'UNAVAILABLE' ? ['Retry-After', RETRY_AFTER_SECONDS] : [];
  answerJson(exchange, HTTP_STATUS[code], errorMembers(thrown), headers);
}

/** An error that no TritonError stands for. */
export function answerRefusal(exchange: HttpExchange, { status, message, code, headers }: Refusal): void {
  const error = { message, type: 'invalid_request_error', param: null, code };
  answerJson(exchange, status, { error }, headers);
}

interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly code: string | null;
  readonly headers?: HttpHeaders;
}
