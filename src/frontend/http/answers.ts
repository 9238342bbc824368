// The forms that answers of this protocol have.

import { HTTP_STATUS, TritonError } from '../../errors.js';
import { type HttpExchange, type HttpHeaders, RETRY_AFTER_SECONDS } from '../../http1/http-exchange.js';
import { byteLengthOf } from '../../protocol/http/encode-infer-response.js';
import type { Later } from '../served-core.js';

/** `value`: anything that JSON.stringify takes. */
export function answerJson(exchange: HttpExchange, status: number, value: unknown, headers: HttpHeaders = []): void {
  answerBody(exchange, 'application/json', Buffer.from(JSON.stringify(value)), { status, headers });
}

/** Answers with JSON that is written already. `headers` are added to the usual ones. */
export function answerJsonParts(exchange: HttpExchange, parts: readonly Uint8Array[], headers: HttpHeaders = []): void {
  const length = String(byteLengthOf(parts));
  exchange.respond(200, ['Content-Type', 'application/json', 'Content-Length', length, ...headers], parts);
}

/** Answers with a value that JSON.stringify takes. A value that is here already is sent at once. `fail` answers without it. */
export function answerLater(
  exchange: HttpExchange,
  value: Later<object>,
  fail: (exchange: HttpExchange, error: unknown) => void = answerError,
): void {
  if (value instanceof Promise) {
    value.then(
      (here: object) => answerJson(exchange, 200, here),
      (error: unknown) => fail(exchange, error),
    );
  } else {
    answerJson(exchange, 200, value);
  }
}

/** The protocol's form of an error: `{"error":"…"}` with the status of its code. */
export function answerError(exchange: HttpExchange, thrown: unknown, headers: HttpHeaders = []): void {
  const error = TritonError.from(thrown);
  answerJson(exchange, HTTP_STATUS[error.code], { error: error.message }, headers);
}

/** Health and readiness answer with the status alone. */
export function answerEmpty(exchange: HttpExchange, status: number): void {
  exchange.respond(status, ['Content-Type', 'text/plain', 'Content-Length', '0'], []);
}

/** `headers` are added to the usual ones. */
export function answerBody(
  exchange: HttpExchange,
  contentType: string,
  body: Buffer,
  { status = 200, headers = [] }: { readonly status?: number; readonly headers?: HttpHeaders } = {},
): void {
  const all = ['Content-Type', contentType, 'Content-Length', String(body.length), ...headers];
  exchange.respond(status, all, [body]);
}

/** Asks the client to try again later. Only refusals that come before an execution have it. */
export const TRY_AGAIN: HttpHeaders = ['Retry-After', RETRY_AFTER_SECONDS];
