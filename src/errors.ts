// The one error type that crosses module borders, with Triton's own error codes
// (TRITONSERVER_Error_Code). Each protocol maps a code to its status in one total table of its own.

export const ERROR_CODES = [
  'UNKNOWN',
  'INTERNAL',
  'NOT_FOUND',
  'INVALID_ARG',
  'UNAVAILABLE',
  'UNSUPPORTED',
  'ALREADY_EXISTS',
  'CANCELLED',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

// Shared through the global symbol registry, so that two copies of the package recognise each other's errors.
const BRAND = Symbol.for('tstriton.TritonError');

export interface TritonErrorOptions {
  readonly cause?: unknown;
}

/**
 * What every failing call of TSTriton throws or rejects with.
 * A callable may throw one itself: its code decides the status that the client gets.
 *
 * @example
 * throw new TritonError('INVALID_ARG', `temperature must be positive, got ${temperature}`);
 */
export class TritonError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: TritonErrorOptions) {
    super(message, options);
    this.name = 'TritonError';
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for a TritonError of this or another copy of the package. */
  static is(value: unknown): value is TritonError {
    return hasBrand(value, BRAND);
  }

  /**
   * Turns anything that was caught into a TritonError: the only place where that happens. Never throws, and what it
   * gives can be read. The original is kept as `cause` for the log; its stack never reaches a client.
   */
  static from(value: unknown, code: ErrorCode = 'INTERNAL'): TritonError {
    if (TritonError.is(value) && isReadable(value)) return value;
    const message = describeThrown(value);
    if (TritonUnrecoverableError.is(value)) return new TritonUnrecoverableError(message, { cause: value });
    return new TritonError(code, message, { cause: value });
  }
}

/** What is wrong with what a user or a client gave. */
export function invalidArg(message: string, options?: TritonErrorOptions): TritonError {
  return new TritonError('INVALID_ARG', message, options);
}

// Whatever is asked of a proxy may throw.
function hasBrand(value: unknown, brand: symbol): boolean {
  try {
    return typeof value === 'object' && value !== null && brand in value;
  } catch {
    return false;
  }
}

/** Whether what answers and logs need of an error is there: it may be made by hand, with getters that throw. */
function isReadable(error: TritonError): boolean {
  try {
    const parts: readonly unknown[] = [error.code, error.message, error.cause];
    return parts.slice(0, 2).every((part) => typeof part === 'string');
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

/** What the log says of an error: the stack of what was thrown, under the message where that says more. */
export function logTextOf(error: TritonError): string {
  const { cause, message } = error;
  const stack = stackOf(cause);
  if (stack === undefined) return stackOf(error) ?? message;
  if (describeThrown(cause) === message) return stack;
  const frames = stack.indexOf('\n    at ');
  return frames < 0 ? message : message + stack.slice(frames);
}

/** The stack of what may be an error. Never throws. */
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
 * What a callable throws when no further inference is possible: its requests are answered, then the server shuts
 * down, so that whatever supervises the process can start it anew. PyTriton's PyTritonUnrecoverableError.
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

/** Fails one request, never the process: a broken invariant of our own. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new TritonError('INTERNAL', `this is a bug in TSTriton: ${invariant}`);
}
