// The one error type that crosses module borders. Its codes are Triton's own (TRITONSERVER_Error_Code), and four more that clients
// tell apart. The table below has the HTTP status of each; gRPC has a total table of its own.

/** The first eight are Triton's HttpCodeFromError. */
export const HTTP_STATUS = {
  UNKNOWN: 400,
  INTERNAL: 500,
  NOT_FOUND: 404,
  INVALID_ARG: 400,
  UNAVAILABLE: 503,
  UNSUPPORTED: 501,
  ALREADY_EXISTS: 400,
  CANCELLED: 400,
  DEADLINE_EXCEEDED: 504,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  TOO_LARGE: 413,
} as const;

/** `docs/errors.md` says what each means, and when to ask again. */
export type ErrorCode = keyof typeof HTTP_STATUS;

export const ERROR_CODES = Object.keys(HTTP_STATUS) as readonly ErrorCode[];

// Shared through the global symbol registry, so that two copies of the package recognise each other's errors.
const BRAND = Symbol.for('tstriton.TritonError');

export interface TritonErrorOptions {
  readonly cause?: unknown;
}

/**
 * Every failing call of TSTriton throws or rejects with this error. A callable may throw one itself: its code decides
 * the status that the client gets.
 *
 * @example
 * throw new TritonError('INVALID_ARG', `temperature must be positive, got ${temperature}`);
 */
export class TritonError extends Error {
  /** What kind of failure it is, over both protocols: see `docs/errors.md`. */
  readonly code: ErrorCode;
  /** The HTTP status of the code, whatever carried the error. The error of an answer over HTTP has the answer's own. */
  readonly status: number;

  constructor(code: ErrorCode, message: string, options?: TritonErrorOptions) {
    super(message, options);
    this.name = 'TritonError';
    this.code = code;
    this.status = HTTP_STATUS[code];
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for a TritonError of this or another copy of the package. */
  static is(value: unknown): value is TritonError {
    return hasBrand(value, BRAND);
  }

  /**
   * Turns any caught value into a TritonError; nothing else does so. Never throws, and returns an error with readable
   * members. It keeps the original as `cause` for the log; the stack never reaches a client.
   */
  static from(value: unknown, code: ErrorCode = 'INTERNAL'): TritonError {
    if (TritonError.is(value) && isReadable(value)) return value;
    const message = describeThrown(value);
    if (TritonUnrecoverableError.is(value)) return new TritonUnrecoverableError(message, { cause: value });
    return new TritonError(code, message, { cause: value });
  }
}

/** Gives the error the status of the answer that it came with. Returns the error. */
export function withStatus<E extends TritonError>(error: E, status: number): E {
  return Object.assign(error, { status });
}

/** An error about input of a user or a client. */
export function invalidArg(message: string, options?: TritonErrorOptions): TritonError {
  return new TritonError('INVALID_ARG', message, options);
}

const MISUSE = Symbol.for('tstriton.misuse');

/** An error about what a caller gave to a tensor. */
export function misuse(message: string, options?: TritonErrorOptions): TritonError {
  return Object.defineProperty(invalidArg(message, options), MISUSE, { value: true });
}

/** What a callable failed with. A tensor that it misused is INTERNAL: its client has done nothing wrong. */
export function failureOfCallable(thrown: unknown): TritonError {
  const error = TritonError.from(thrown);
  return hasBrand(error, MISUSE) ? new TritonError('INTERNAL', error.message, { cause: error }) : error;
}

// Any access to a proxy may throw.
function hasBrand(value: unknown, brand: symbol): boolean {
  try {
    return typeof value === 'object' && value !== null && brand in value;
  } catch {
    return false;
  }
}

/** Whether answers and logs can read the error. A hand-made error may have getters that throw, or a code without a status. */
function isReadable(error: TritonError): boolean {
  try {
    const { code, message, cause: _cause } = error;
    return Object.hasOwn(HTTP_STATUS, code) && typeof message === 'string';
  } catch {
    return false;
  }
}

const UNREADABLE = 'what was thrown cannot be read';

function describeThrown(value: unknown): string {
  try {
    const text = value instanceof Error ? value.message || value.name : messageIn(value);
    if (typeof text === 'string') return text;
  } catch {
    return UNREADABLE;
  }
  if (value === undefined) return 'undefined was thrown';
  const kind = typeof value === 'object' || value instanceof Error ? 'an object' : `a ${typeof value}`;
  try {
    return JSON.stringify(value) ?? `${kind} was thrown`;
  } catch {
    return `${kind} was thrown`;
  }
}

function messageIn(value: unknown): unknown {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? (value as { readonly message?: unknown }).message : undefined;
}

/** The stack of the error that stands for such a value would show only our own code. */
const NO_ERROR_THROWN = 'what was thrown is no Error, so there is no stack';

/** The log's text of an error: the original stack, under the error's message where that says more. */
export function logTextOf(error: TritonError): string {
  const { cause, message } = error;
  const stack = stackOf(cause);
  const wasThrown = 'cause' in error && describeThrown(cause) === message;
  if (stack === undefined) return wasThrown ? `${message} (${NO_ERROR_THROWN})` : (stackOf(error) ?? message);
  if (wasThrown) return stack;
  const frames = stack.indexOf('\n    at ');
  return frames < 0 ? message : message + stack.slice(frames);
}

/** The stack of a thrown value, if it has one. Never throws. */
export function stackOf(thrown: unknown): string | undefined {
  try {
    const { stack } = thrown as { readonly stack?: unknown };
    return typeof stack === 'string' && stack !== '' ? stack : undefined;
  } catch {
    return undefined;
  }
}

const UNRECOVERABLE = Symbol.for('tstriton.TritonUnrecoverableError');

/**
 * A callable throws this error when no further inference is possible. The server answers the callable's requests and
 * shuts down, so that a supervisor can restart the process. PyTriton's PyTritonUnrecoverableError.
 *
 * @example
 * throw new TritonUnrecoverableError('the device was lost', { cause: error });
 */
export class TritonUnrecoverableError extends TritonError {
  constructor(message: string, options?: TritonErrorOptions) {
    super('INTERNAL', message, options);
    this.name = 'TritonUnrecoverableError';
    Object.defineProperty(this, UNRECOVERABLE, { value: true });
  }

  /** True for a TritonUnrecoverableError of this or another copy of the package. */
  static override is(value: unknown): value is TritonUnrecoverableError {
    return hasBrand(value, UNRECOVERABLE);
  }
}

/** The same error with another message for clients. */
export function reworded(error: TritonError, message: string): TritonError {
  const { code } = error;
  const options = { cause: error.cause ?? error };
  return TritonUnrecoverableError.is(error)
    ? new TritonUnrecoverableError(message, options)
    : new TritonError(code, message, options);
}

/** Throws when an invariant of our own is broken. This fails one request, never the process. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new TritonError('INTERNAL', `this is a bug in TSTriton: ${invariant}`);
}
