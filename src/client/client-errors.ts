// Classes of errors that programs tell apart: the time is over, the connection is missing, the client's own queue is full.

import { TritonError, type TritonErrorOptions } from '../errors.js';

// Shared through the global symbol registry, as that of TritonError is.
const TIMEOUT = Symbol.for('tstriton.TritonTimeoutError');
const CONNECTION = Symbol.for('tstriton.TritonConnectionError');
const QUEUE_FULL = Symbol.for('tstriton.TritonQueueFullError');

/** The time is over: the call's `timeoutMs`, or a limit of the server or of a proxy. Its code is DEADLINE_EXCEEDED. */
export class TritonTimeoutError extends TritonError {
  constructor(message: string, options?: TritonErrorOptions) {
    super('DEADLINE_EXCEEDED', message, options);
    this.name = 'TritonTimeoutError';
    Object.defineProperty(this, TIMEOUT, { value: true });
  }

  /** True for a TritonTimeoutError of this or another copy of the package. */
  static override is(value: unknown): value is TritonTimeoutError {
    return TritonError.is(value) && TIMEOUT in value;
  }
}

export interface TritonConnectionErrorOptions extends TritonErrorOptions {
  /** Whether the server may have got the request, or part of it. */
  readonly requestSent: boolean;
}

/** The server cannot be reached, or the connection was lost before the answer was complete. Its code is UNAVAILABLE. */
export class TritonConnectionError extends TritonError {
  /** Whether the server may have got the request. False: it did not, so that the request can be sent again whatever it does. */
  readonly requestSent: boolean;

  constructor(message: string, { requestSent, ...options }: TritonConnectionErrorOptions) {
    super('UNAVAILABLE', message, options);
    this.name = 'TritonConnectionError';
    this.requestSent = requestSent;
    Object.defineProperty(this, CONNECTION, { value: true });
  }

  /** True for a TritonConnectionError of this or another copy of the package. */
  static override is(value: unknown): value is TritonConnectionError {
    return TritonError.is(value) && CONNECTION in value;
  }
}

/** The client's own queue is full, `maxQueueSize`: nothing was sent. Its code is UNAVAILABLE. */
export class TritonQueueFullError extends TritonError {
  constructor(message: string, options?: TritonErrorOptions) {
    super('UNAVAILABLE', message, options);
    this.name = 'TritonQueueFullError';
    Object.defineProperty(this, QUEUE_FULL, { value: true });
  }

  /** True for a TritonQueueFullError of this or another copy of the package. */
  static override is(value: unknown): value is TritonQueueFullError {
    return TritonError.is(value) && QUEUE_FULL in value;
  }
}
