// Compressed bodies of requests and answers, for the endpoints that take and give them.

import { TritonError } from '../../errors.js';
import type { HttpExchange, HttpHeaders } from '../../http1/http-exchange.js';
import { compressBody, type ContentCoding, inflateBody } from '../../protocol/http/content-coding.js';
import { answerError, TRY_AGAIN } from './answers.js';

interface InflatedLimit {
  readonly maxInputSize: number;
  /** The code of the refusal. Default: INVALID_ARG, as in Triton. */
  readonly tooLarge?: 'INVALID_ARG' | 'TOO_LARGE';
}

/** Calls back with the inflated body, unless it answers with the refusal of it. */
export function inflateRequest(
  exchange: HttpExchange,
  compressed: Buffer,
  { maxInputSize, tooLarge }: InflatedLimit,
  run: (body: Buffer) => void,
): void {
  const maxSize = Math.min(maxInputSize, exchange.largestBody);
  const limits = { maxSize, hold: (bytes: number) => exchange.hold(bytes) };
  inflateBody(compressed, limits, tooLarge).then(run, (thrown: unknown) => {
    const error = TritonError.from(thrown);
    answerError(exchange, error, error.code === 'UNAVAILABLE' ? TRY_AGAIN : []);
  });
}

/** Calls back with the parts of the compressed answer and its header, or with the plain parts when memory is short. */
export function compressAnswer(
  exchange: HttpExchange,
  parts: readonly Uint8Array[],
  coding: Exclude<ContentCoding, 'identity'>,
  send: (parts: readonly Uint8Array[], headers: HttpHeaders) => void,
): void {
  const cancel = compressBody(parts, coding, (compressed) => {
    if (compressed === undefined) send(parts, []);
    else send(compressed, ['Content-Encoding', coding]);
  });
  if (cancel !== undefined) exchange.onAbort(cancel);
}
