import type { Parameters } from './parameters.js';

export const MIN_INT64 = -(2n ** 63n);
export const MAX_UINT64 = 2n ** 64n - 1n;
const TYPES: readonly string[] = ['string', 'boolean', 'number'];

/** Whether a value can be a parameter: an integer has 64 bits. */
export function isParameter(value: unknown): value is Parameters[string] {
  return typeof value === 'bigint' ? value >= MIN_INT64 && value <= MAX_UINT64 : TYPES.includes(typeof value);
}
