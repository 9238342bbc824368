// The error of an answer that is a refusal. Statuses and texts of both protocols lead to the same codes.

import { TritonError, withStatus, type ErrorCode } from '../errors.js';
import { TritonTimeoutError } from './client-errors.js';

/** HTTP statuses of Triton, and of proxies on the way. Several of Triton's codes share 400. */
const CODE_OF_HTTP_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNSUPPORTED',
  407: 'UNAUTHENTICATED',
  408: 'DEADLINE_EXCEEDED',
  413: 'TOO_LARGE',
  415: 'UNSUPPORTED',
  429: 'UNAVAILABLE',
  499: 'CANCELLED',
  501: 'UNSUPPORTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

export function codeOfHttpStatus(status: number): ErrorCode {
  return CODE_OF_HTTP_STATUS[status] ?? (status >= 500 ? 'INTERNAL' : status >= 400 ? 'INVALID_ARG' : 'UNKNOWN');
}

/** Over gRPC Triton says UNAVAILABLE where the token is missing, and 403 over HTTP. */
const RESTRICTED = /^This protocol is restricted/;

/** Triton over HTTP, where the status is 400, and the implementations of gRPC. */
const TOO_LARGE =
  /exceeds the maximum allowed (input size|value)|message (is )?larger than max|exceeds maximum size|message length too large/;

/**
 * The error with the code that the text tells, where it tells more than the status. `httpStatus`: of an answer over HTTP. An error never
 * has the status of a success or a redirect.
 */
export function refusal(code: ErrorCode, message: string, httpStatus?: number): TritonError {
  const error = errorOf(told(code, message), message);
  return httpStatus === undefined || httpStatus < 400 ? error : withStatus(error, httpStatus);
}

function errorOf(code: ErrorCode, message: string): TritonError {
  return code === 'DEADLINE_EXCEEDED' ? new TritonTimeoutError(message) : new TritonError(code, message);
}

function told(code: ErrorCode, message: string): ErrorCode {
  if (RESTRICTED.test(message)) return 'PERMISSION_DENIED';
  const maySayMore = code === 'INVALID_ARG' || code === 'UNAVAILABLE';
  return maySayMore && TOO_LARGE.test(message) ? 'TOO_LARGE' : code;
}
