// Names values in messages.

import { Tensor } from '../tensor/tensor.js';

/** What a value is: `a record`, `a list`, `a Float64Array`. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return `a ${typeof value}`;
  if (Tensor.is(value)) return 'a Tensor';
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  return tag === 'Object' ? 'a record' : `a ${tag}`;
}
