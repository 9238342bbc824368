// Makes the error of a gRPC call that failed: by a status other than OK, by an answer that is not gRPC, or without an answer.

import { TritonError, type ErrorCode } from '../../errors.js';
import type { HeaderList } from '../../http2/header-list.js';
import type { Http2Error } from '../../http2/http2-error.js';
import { provesUnexecuted } from '../../model/unexecuted.js';
import { CODE_OF_STATUS, decodeGrpcMessage, GRPC_STATUS, type GrpcStatus } from '../../protocol/grpc/grpc-status.js';
import type { Call } from '../call.js';
import { connectionError, lostInSilence, notTheProtocol } from '../connection-error.js';
import { codeOfHttpStatus, refusal } from '../refusal.js';
import { adviceOfHttpStatus, adviceOfRefusal, withRetryAdvice, type RetryAdvice } from '../retry-advice.js';
import type { Http2Connection } from './http2-connection.js';

/** Also with a parameter or the form of the messages, but not gRPC-Web. */
const CONTENT_TYPE = /^application\/grpc(?![-\w])/i;

export function isGrpcHead(head: HeaderList | undefined): boolean {
  return head?.get(':status') === '200' && CONTENT_TYPE.test(head.get('content-type') ?? '');
}

export interface FailedStatus {
  readonly status: number;
  /** The value of grpc-message. */
  readonly encodedMessage: string | undefined;
  /** The value of grpc-retry-pushback-ms: when to try again. Anything but a number means never. */
  readonly pushback: string | undefined;
  readonly address: string;
}

/** The error of a status other than OK. */
export function statusError({ status, encodedMessage, pushback, address }: FailedStatus, call: Call): TritonError {
  const message = decodeGrpcMessage(encodedMessage ?? '');
  return errorOfStatus({ status, message, pushback, address }, call);
}

export interface ReadStatus extends Omit<FailedStatus, 'encodedMessage'> {
  readonly message: string;
}

/** The same for a message that was read. */
export function errorOfStatus({ status, message, pushback, address }: ReadStatus, call: Call): TritonError {
  const code = CODE_OF_STATUS[status as GrpcStatus] ?? 'UNKNOWN';
  // If our own deadline has passed by the clock, our error says more than the server's.
  if (code === 'DEADLINE_EXCEEDED' && (message === '' || call.remainingMs === 0)) return call.deadlineError();
  const error = refusal(code, message === '' ? `${address} answered with gRPC status ${status}` : message);
  return withRetryAdvice(error, mayPass(status, message) ? adviceOfStatus(message, pushback) : undefined);
}

/** Whether the server has no room, serves nobody for now, or has unloaded the model because it stops. */
function mayPass(status: number, message: string): boolean {
  if (status === GRPC_STATUS.NOT_FOUND) return provesUnexecuted(message);
  return status === GRPC_STATUS.UNAVAILABLE || status === GRPC_STATUS.RESOURCE_EXHAUSTED;
}

function adviceOfStatus(message: string, pushback: string | undefined): RetryAdvice | undefined {
  if (pushback === undefined) return adviceOfRefusal(message, undefined);
  // With anything but a number, the server asks us not to try again.
  return /^\d{1,10}$/.test(pushback) ? adviceOfRefusal(message, Number(pushback)) : undefined;
}

/** The error of an answer from a proxy or another server without gRPC. The codes are as over HTTP, except for the statuses below. */
export function notGrpcError(head: HeaderList, address: string): TritonError {
  const status = Number(head.get(':status'));
  const message = `${address} answered with HTTP status ${status} and content type ${head.get('content-type') ?? 'none'}, expected gRPC`;
  const code = CODE_OF_FOREIGN_STATUS[status] ?? codeOfHttpStatus(status);
  const error = refusal(code, message, status);
  return withRetryAdvice(error, adviceOfHttpStatus(status, message, head.get('retry-after')));
}

/**
 * 200: a page is not an answer. 400: the user did not write the request that a proxy cannot read. 404: the server lacks our service.
 */
const CODE_OF_FOREIGN_STATUS: Readonly<Record<number, ErrorCode>> = {
  200: 'UNKNOWN',
  400: 'INTERNAL',
  404: 'UNSUPPORTED',
};

export interface LostAnswer {
  readonly address: string;
  /** Undefined if the stream ended before the head came. */
  readonly head: HeaderList | undefined;
  readonly connection: Pick<Http2Connection, 'hasFailed' | 'wasConnected' | 'isSilent'>;
}

/** The error of a stream that ended without a status. */
export function lostError(error: Http2Error | undefined, { address, head, connection }: LostAnswer): TritonError {
  const { hasFailed, wasConnected, isSilent } = connection;
  if (error === undefined) return connectionError(new Error('the answer ends without a status'), address);
  if (error.code === 'CONNECTION_LOST') {
    const lost = isSilent ? lostInSilence(error.cause) : error.cause;
    return connectionError(lost ?? new Error('connection lost'), address, wasConnected);
  }
  if (error.code === 'CANCEL' && !hasFailed)
    return new TritonError('CANCELLED', `the call was cancelled by ${address}`);
  // The server's bytes are not HTTP/2. The client itself ends a connection without an error.
  if (hasFailed && head === undefined && error.code !== 'NO_ERROR') return notTheProtocol(error, address, 'gRPC');
  return connectionError(error, address);
}
