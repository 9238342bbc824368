// A Tensor checks only its array: of text and bytes, an element may be anything.

import type { Tensor } from '../tensor/tensor.js';
import { describeValue } from './check.js';

/** What is wrong with the first element of a `string` or `bytes` tensor that is none; undefined where all are right. */
export function oddElementOf({ dtype, data }: Tensor): string | undefined {
  const elements = data as readonly unknown[];
  let index = 0;
  // This runs in one go, so one loop for each dtype: with a function of its own for each element it takes twice as long.
  if (dtype === 'string') while (index < elements.length && typeof elements[index] === 'string') index++;
  else while (index < elements.length && elements[index] instanceof Uint8Array) index++;
  if (index === elements.length) return undefined;
  const expected = dtype === 'string' ? 'a string' : 'a Uint8Array';
  return `has element ${index} that is ${describeValue(elements[index])}, expected ${expected}`;
}
