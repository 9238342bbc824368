// When two values of an input are the same: as JavaScript's Map has it. All NaNs are one value and so are 0 and
// -0, whichever bits they have; strings and bytes are the same when all of them is.

import type { Tensor } from '../tensor/tensor.js';

type Comparable = ArrayLike<number> | ArrayLike<bigint> | readonly string[];

function comparableElements({ dtype, data }: Tensor, tensor: Tensor): Comparable {
  // Raw bits do not tell that two NaNs, or two zeros, are the same.
  if (dtype === 'float16' || dtype === 'bfloat16') return tensor.toFloat32();
  if (dtype === 'bytes') return (data as Uint8Array[]).map((element) => Buffer.from(element).toString('latin1'));
  return data as Comparable;
}

/** A key for each row, the same for rows with the same values in all tensors. */
export function rowKeys(tensors: readonly Tensor[]): unknown[] {
  const keysByTensor = tensors.map(keysOf);
  const [first, ...others] = keysByTensor;
  if (first === undefined || others.length === 0) return first ?? [];
  return first.map((key, row) => JSON.stringify([String(key), ...others.map((keys) => String(keys[row]))]));
}

function keysOf(tensor: Tensor): unknown[] {
  const elements = comparableElements(tensor, tensor);
  const rows = tensor.rowCount;
  const size = rows === 0 ? 0 : elements.length / rows;
  const keyOfRow =
    size === 1
      ? (row: number) => elements[row]
      : (row: number) => JSON.stringify(Array.from(elements as ArrayLike<unknown>).slice(row * size, (row + 1) * size).map(String));
  return Array.from({ length: rows }, (_, row) => keyOfRow(row));
}

/** Whether all rows of a tensor have the same values. */
export function hasEqualRows(tensor: Tensor): boolean {
  const elements = comparableElements(tensor, tensor) as ArrayLike<unknown>;
  const rows = tensor.rowCount;
  const size = rows === 0 ? 0 : elements.length / rows;
  for (let i = size; i < elements.length; i++) {
    const [value, first] = [elements[i], elements[i % size]];
    if (value !== first && !(value !== value && first !== first)) return false;
  }
  return true;
}
