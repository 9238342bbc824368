// Takes rows out of tensors for a group, and puts the results back into their places.

import { DTYPES, type DataOf, type Dtype } from '../tensor/dtype.js';
import { elementCount } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';

/** The rows at `indices`, in that order; a view where they lie one after the other. */
export function takeRows<D extends Dtype>(tensor: Tensor<D>, indices: readonly number[]): Tensor<D> {
  const first = indices[0] ?? 0;
  if (indices.every((row, place) => row === first + place)) return tensor.slice(first, first + indices.length);
  return copyRows(tensor, indices);
}

/** The tensor with its last row repeated until it has `rows` rows. */
export function repeatLastRow<D extends Dtype>(tensor: Tensor<D>, rows: number): Tensor<D> {
  const last = tensor.rowCount - 1;
  const indices = Array.from({ length: rows }, (_, row) => Math.min(row, last));
  return copyRows(tensor, indices);
}

/** Tensors of one dtype and row shape joined: row `i` of part `p` becomes row `places[p][i]`. */
export function scatterRows<D extends Dtype>(
  parts: readonly Tensor<D>[],
  places: readonly (readonly number[])[],
): Tensor<D> {
  const first = parts[0]!;
  const size = elementCount(first.shape.slice(1));
  const rows = places.reduce((sum, { length }) => sum + length, 0);
  const data = emptyData(first.dtype, rows * size);
  parts.forEach((part, index) => {
    places[index]!.forEach((row, place) => copyRow(part.data, place * size, { to: data, at: row * size, size }));
  });
  return new Tensor(first.dtype, data, [rows, ...first.shape.slice(1)]);
}

function copyRows<D extends Dtype>(tensor: Tensor<D>, indices: readonly number[]): Tensor<D> {
  const size = elementCount(tensor.shape.slice(1));
  const data = emptyData(tensor.dtype, indices.length * size);
  indices.forEach((row, place) => copyRow(tensor.data, row * size, { to: data, at: place * size, size }));
  return new Tensor(tensor.dtype, data, [indices.length, ...tensor.shape.slice(1)]);
}

function emptyData<D extends Dtype>(dtype: D, length: number): DataOf[D] {
  const { array } = DTYPES[dtype];
  const data = array === undefined ? new Array<unknown>(length) : new (array as Float32ArrayConstructor)(length);
  return data as unknown as DataOf[D];
}

interface Target<D extends Dtype> {
  readonly to: DataOf[D];
  readonly at: number;
  /** Elements of a row. */
  readonly size: number;
}

function copyRow<D extends Dtype>(from: DataOf[D], start: number, { to, at, size }: Target<D>): void {
  if (size > 8 && ArrayBuffer.isView(from)) {
    const numbers = from as unknown as Float32Array;
    (to as unknown as Float32Array).set(numbers.subarray(start, start + size), at);
    return;
  }
  for (let i = 0; i < size; i++) (to as unknown[])[at + i] = (from as unknown[])[start + i];
}
