// Checks of option values at the border, where types may have been bypassed: what is not understood is refused
// with the nearest known name, never ignored.

import { TritonError } from '../errors.js';
import { nearest } from './nearest.js';

/** Refuses members that are not among the known ones. */
export function checkMembers(value: unknown, known: readonly string[], what: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TritonError(
      'INVALID_ARG',
      `${what} must be an object, got ${value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value}`,
    );
  }
  for (const member of Object.keys(value)) {
    if (known.includes(member)) continue;
    const suggestion = nearest(member, known);
    const hint = suggestion === undefined ? `known are ${known.join(', ')}` : `did you mean '${suggestion}'?`;
    throw new TritonError('INVALID_ARG', `${what} has an unknown option '${member}'; ${hint}`);
  }
}

/** Returns the value when it is an integer in the range, both ends included. */
export function expectInteger(value: unknown, least: number, most: number, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `an integer >= ${least}` : `an integer from ${least} to ${most}`;
  throw new TritonError(
    'INVALID_ARG',
    `${what} must be ${range}, got ${typeof value === 'string' ? JSON.stringify(value) : String(value)}`,
  );
}

export function expectBoolean(value: unknown, what: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new TritonError(
    'INVALID_ARG',
    `${what} must be true or false, got ${typeof value === 'string' ? JSON.stringify(value) : String(value)}`,
  );
}
