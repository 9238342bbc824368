// What went wrong between us and the server, as errors of ours that name the address.

import { TritonError } from '../errors.js';
import { TritonConnectionError } from './client-errors.js';
import { withRetryAdvice } from './retry-advice.js';
import { LASTING_TLS_CODES, tlsReason } from './tls-reason.js';

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found, name resolution failed for now',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'connection timed out',
  ECONNRESET: 'connection lost',
  EPIPE: 'connection lost',
};

/** The `code` of an error of Node's, or ''. */
export function nodeErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/**
 * The error of a call whose connection could not be made or broke: UNAVAILABLE, with the original as cause. `wasConnected`: false when
 * the connection was never there, TLS included; true when it was, or nobody knows.
 */
export function connectionError(error: unknown, address: string, wasConnected = true): TritonError {
  if (TritonError.is(error)) return error;
  const code = nodeErrorCode(error);
  const { message } = TritonError.from(error);
  const reason = REASONS[code] ?? tlsReason(code, message) ?? (message || code || 'unknown reason');
  const requestSent = wasConnected && !neverConnected(error, code);
  const failure = new TritonConnectionError(`${address} is not available: ${reason}`, { cause: error, requestSent });
  return withRetryAdvice(failure, LASTING.has(code) ? undefined : { unexecuted: !requestSent });
}

const LOST = new Set(['ECONNRESET', 'EPIPE']);

/** Whether the connection was there and went away without a reason. */
export function isLoss(error: unknown): boolean {
  return error === undefined || LOST.has(nodeErrorCode(error));
}

/** Why a connection was lost on which the client gave its certificate and the server said nothing. In TLS 1.3 some servers turn it away so. */
export function lostInSilence(error: unknown): unknown {
  if (!isLoss(error)) return error;
  return new Error('connection lost before a word of the server; does it trust the certificate in tls.cert?', {
    cause: error,
  });
}

/** The error of a call that the server promises to have done nothing for. */
export function unprocessedError(detail: string, address: string, cause?: unknown): TritonConnectionError {
  const failure = new TritonConnectionError(`${address} is not available: ${detail}`, { cause, requestSent: false });
  return withRetryAdvice(failure, { unexecuted: true });
}

/** Codes of errors that the next attempt meets again. */
const LASTING = new Set(['ENOTFOUND', ...LASTING_TLS_CODES]);

/** Codes of errors that only happen before there is a connection. */
const BEFORE_CONNECTION = new Set(['ECONNREFUSED', 'EAI_AGAIN', ...LASTING]);

/** Whether the connection was never made. Hosts and networks may also become unreachable behind a request. */
function neverConnected(error: unknown, code: string): boolean {
  if (BEFORE_CONNECTION.has(code)) return true;
  // Several addresses were tried.
  if (error instanceof AggregateError) return error.errors.every((each) => neverConnected(each, nodeErrorCode(each)));
  const syscall = error instanceof Error && 'syscall' in error ? error.syscall : undefined;
  return syscall === 'connect' || syscall === 'getaddrinfo';
}

/** The error of an answer that is larger than the client takes. */
export function tooLargeError(maxResponseBytes: number, address: string): TritonError {
  return new TritonError(
    'TOO_LARGE',
    `the answer of ${address} is larger than ${maxResponseBytes} bytes, the client's maxResponseBytes`,
  );
}

/** The error of a call that was answered in something other than the protocol. */
export function notTheProtocol(error: unknown, address: string, expected: string): TritonError {
  const got = TritonError.from(error).message;
  return new TritonError(
    'UNAVAILABLE',
    `${address} does not answer in ${expected} (${got}); is it another server's port?`,
    { cause: error },
  );
}

/** The server has ended a request that wants one answer. */
export function noAnswerError(): TritonError {
  return new TritonError('INTERNAL', 'malformed response of the server: expected one answer, got none');
}
