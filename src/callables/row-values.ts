// Compares rows of inputs as JavaScript's Map compares values. All NaNs are one value and so are 0 and -0, whichever
// bits they have; strings and bytes are equal when all their characters or bytes are.

import { numbersOf } from '../tensor/cast.js';
import type { Tensor } from '../tensor/tensor.js';

/** A key for each row, the same for rows that have the same values in all tensors. */
export function rowKeys(tensors: readonly Tensor[]): readonly unknown[] {
  const [first = [], ...others] = tensors.map(keysOf);
  if (others.length === 0) return first;
  return first.map((key, row) => JSON.stringify([String(key), ...others.map((keys) => String(keys[row]))]));
}

/** Whether all rows of a tensor have the same values. */
export function hasEqualRows(tensor: Tensor): boolean {
  const elements = comparableElements(tensor);
  const size = rowSize(tensor, elements);
  for (let i = size; i < elements.length; i++) {
    const value = elements[i];
    const first = elements[i % size];
    if (value !== first && !Object.is(value, first)) return false;
  }
  return true;
}

function keysOf(tensor: Tensor): readonly unknown[] {
  const elements = comparableElements(tensor);
  const size = rowSize(tensor, elements);
  if (size === 1) return Array.from(elements);
  return Array.from({ length: tensor.rowCount }, (_, row) => {
    const values: string[] = [];
    for (let i = row * size; i < (row + 1) * size; i++) values.push(String(elements[i]));
    return JSON.stringify(values);
  });
}

function comparableElements(tensor: Tensor): ArrayLike<unknown> {
  const { dtype, data } = tensor;
  // Two NaNs, or two zeros, may differ in their raw bits.
  if (dtype === 'bytes') return (data as Uint8Array[]).map((element) => Buffer.from(element).toString('latin1'));
  return numbersOf(tensor);
}

function rowSize(tensor: Tensor, elements: ArrayLike<unknown>): number {
  return tensor.rowCount === 0 ? 0 : elements.length / tensor.rowCount;
}
