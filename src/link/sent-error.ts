// Errors on their way between threads: structured clone would drop their codes and classes.

import { ERROR_CODES, stackOf, TritonError, TritonUnrecoverableError, type ErrorCode } from '../errors.js';
import { isBatchFailure, markBatchFailure } from '../model/batch-failure.js';

/** An error of a request, as messages carry it. */
export type SentError = readonly [code: ErrorCode, message: string, kind?: typeof UNRECOVERABLE | typeof OF_BATCH];

const UNRECOVERABLE = 1;
const OF_BATCH = 2;

/** Makes an error ready to send. The error may be from another copy of the package, or made by hand. */
export function sendError(error: TritonError): SentError {
  const code = ERROR_CODES.includes(error.code) ? error.code : 'INTERNAL';
  const message = String(error.message);
  if (TritonUnrecoverableError.is(error)) return [code, message, UNRECOVERABLE];
  return isBatchFailure(error) ? [code, message, OF_BATCH] : [code, message];
}

export function receiveError([code, message, kind]: SentError, cause?: unknown): TritonError {
  const options = cause === undefined ? undefined : { cause };
  if (kind === UNRECOVERABLE) return new TritonUnrecoverableError(message, options);
  const error = new TritonError(code, message, options);
  return kind === OF_BATCH ? markBatchFailure(error) : error;
}

/** An error on its way to the server's operator, who unlike a client also gets the cause and its stack. */
export interface SentFailure {
  readonly error: SentError;
  readonly cause: SentCause | undefined;
}

interface SentCause {
  readonly message: string;
  readonly stack: string | undefined;
}

export function sendFailure(error: TritonError): SentFailure {
  return { error: sendError(error), cause: causeOf(error) };
}

function causeOf({ cause }: TritonError): SentCause | undefined {
  if (cause === undefined) return undefined;
  return { message: TritonError.from(cause).message, stack: stackOf(cause) };
}

export function receiveFailure({ error, cause }: SentFailure): TritonError {
  return receiveError(error, cause && Object.assign(new Error(cause.message), { stack: cause.stack }));
}
