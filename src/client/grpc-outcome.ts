// What the end of a gRPC call means when it is no success: a status other than OK, an answer that is no gRPC, or none.

import { TritonError } from '../errors.js';
import type { HeaderList } from '../http2/header-list.js';
import type { Http2Error } from '../http2/http2-error.js';
import { CODE_OF_STATUS, decodeGrpcMessage, GRPC_STATUS, type GrpcStatus } from '../protocol/grpc/grpc-status.js';
import type { Call } from './call.js';
import { connectionError, notTheProtocol } from './connection-error.js';
import { adviceOfHttpStatus, adviceOfRefusal, withRetryAdvice, type RetryAdvice } from './retry-advice.js';

export function isGrpcHead(head: HeaderList | undefined): boolean {
  return head?.get(':status') === '200' && head.get('content-type')?.startsWith('application/grpc') === true;
}

export interface FailedStatus {
  readonly status: number;
  /** The value of grpc-message. */
  readonly encodedMessage: string | undefined;
  /** The value of grpc-retry-pushback-ms: when to try again, or anything else for never. */
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
  if (status === GRPC_STATUS.DEADLINE_EXCEEDED) return call.deadlineError();
  const code = CODE_OF_STATUS[status as GrpcStatus] ?? 'UNKNOWN';
  const error = new TritonError(code, message === '' ? `${address} answered with gRPC status ${status}` : message);
  return withRetryAdvice(error, MAY_PASS.has(status) ? adviceOfStatus(message, pushback) : undefined);
}

/** The server has no room, or serves nobody for now. */
const MAY_PASS = new Set<number>([GRPC_STATUS.UNAVAILABLE, GRPC_STATUS.RESOURCE_EXHAUSTED]);

function adviceOfStatus(message: string, pushback: string | undefined): RetryAdvice | undefined {
  if (pushback === undefined) return adviceOfRefusal(message, undefined);
  // Anything but a number asks not to be asked again.
  return /^\d{1,10}$/.test(pushback) ? adviceOfRefusal(message, Number(pushback)) : undefined;
}

/** A proxy's answer, or no gRPC server at all. The codes are those that gRPC lays down for statuses of HTTP. */
export function notGrpcError(head: HeaderList, address: string): TritonError {
  const status = Number(head.get(':status'));
  const message = `${address} answered with HTTP status ${status} and content type ${head.get('content-type') ?? 'none'}, expected gRPC`;
  switch (status) {
    case 404:
      return new TritonError('UNSUPPORTED', message);
    case 429:
    case 502:
    case 503:
    case 504:
      return withRetryAdvice(
        new TritonError('UNAVAILABLE', message),
        adviceOfHttpStatus(status, message, head.get('retry-after')),
      );
    default:
      return new TritonError(status === 400 ? 'INTERNAL' : 'UNKNOWN', message);
  }
}

export interface LostAnswer {
  readonly address: string;
  /** As far as the answer came. */
  readonly head: HeaderList | undefined;
  readonly connection: { readonly usable: boolean; readonly wasConnected: boolean };
}

/** The error of a stream that ended without a status. */
export function lostError(error: Http2Error | undefined, { address, head, connection }: LostAnswer): TritonError {
  const { usable, wasConnected } = connection;
  if (error === undefined) return connectionError(new Error('the answer ends without a status'), address);
  if (error.code === 'CONNECTION_LOST') {
    return connectionError(error.cause ?? new Error('connection lost'), address, wasConnected);
  }
  if (error.code === 'CANCEL' && usable) return new TritonError('CANCELLED', `the call was cancelled by ${address}`);
  // Its bytes are none of HTTP/2.
  if (!usable && head === undefined) return notTheProtocol(error, address, 'gRPC');
  return connectionError(error, address);
}
