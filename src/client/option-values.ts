// Checks that the options of clients and calls share.

import { TritonError } from '../errors.js';
import { textOf } from '../checks/check.js';

/** The longest time of a timer in Node. */
const MAX_TIMEOUT_MS = 2_147_483_647;

export function expectTimeout(value: unknown): number {
  return expectMilliseconds(value, 'timeoutMs');
}

export function expectMilliseconds(value: unknown, what: string): number {
  if (typeof value === 'number' && value > 0 && value <= MAX_TIMEOUT_MS) return value;
  throw new TritonError(
    'INVALID_ARG',
    `${what} must be a number above 0 and at most ${MAX_TIMEOUT_MS}, got ${textOf(value)}`,
  );
}

/** An integer from 1 on, or Infinity for no limit. */
export function expectLimit(value: unknown, what: string, least = 1): number {
  if (value === Infinity || (Number.isSafeInteger(value) && (value as number) >= least)) return value as number;
  throw new TritonError('INVALID_ARG', `${what} must be an integer >= ${least} or Infinity, got ${textOf(value)}`);
}

/** Called back with what the call has to tell; absent when nobody wants to know. */
export function expectFunction<F>(value: F, what: string): F {
  if (value === undefined || typeof value === 'function') return value;
  throw new TritonError('INVALID_ARG', `${what} must be a function, got ${describe(value)}`);
}

export function expectText(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new TritonError('INVALID_ARG', `${what} must be a string, got ${describe(value)}`);
}

/** A text that UTF-8 has: half a surrogate pair would go out as another character, and come back as another id. */
export function expectUnicode(value: unknown, what: string): string {
  const text = expectText(value, what);
  if (isUnicode(text)) return text;
  throw new TritonError('INVALID_ARG', `${what} must have whole characters, got half of a surrogate pair`);
}

/** Whether each half of a surrogate pair has its other half. */
export function isUnicode(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

export function expectSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw new TritonError('INVALID_ARG', `signal must be an AbortSignal, got ${describe(value)}`);
}

export function describe(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value;
}
