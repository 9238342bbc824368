// Names values in messages.

import { Tensor } from '../tensor/tensor.js';

/** What a value is: `a record`, `a list`, `a Float64Array`, `a Classifier`. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return `a ${typeof value}`;
  if (Tensor.is(value)) return 'a Tensor';
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  return `a ${tag === 'Object' ? (classOf(value) ?? 'record') : tag}`;
}

/** The name of the class that an object is of; undefined for what a literal makes. */
function classOf(value: object): string | undefined {
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: unknown } | null;
  const made = prototype?.constructor;
  if (prototype === null || Object.getPrototypeOf(prototype) === null || typeof made !== 'function') return undefined;
  return made.name === '' ? undefined : made.name;
}
