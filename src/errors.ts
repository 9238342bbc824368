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
    return typeof value === 'object' && value !== null && BRAND in value;
  }

  /**
   * Turns anything that was caught into a TritonError: the only place where that happens.
   * The original is kept as `cause` for the log; its stack never reaches a client.
   */
  static from(value: unknown, code: ErrorCode = 'INTERNAL'): TritonError {
    if (TritonError.is(value)) return value;
    return new TritonError(code, describeThrown(value), { cause: value });
  }
}

function describeThrown(value: unknown): string {
  if (value instanceof Error) return value.message || value.name;
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string')
    return value.message;
  if (value === undefined) return 'undefined was thrown';
  const kind = typeof value === 'object' ? 'an object' : `a ${typeof value}`;
  try {
    return JSON.stringify(value) ?? `${kind} was thrown`;
  } catch {
    return `${kind} was thrown`;
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
    return typeof value === 'object' && value !== null && UNRECOVERABLE in value;
  }
}

/** Fails one request, never the process: a broken invariant of our own. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new TritonError('INTERNAL', `this is a bug in TSTriton: ${invariant}`);
}
