// Moves the batch axis of a tensor. Rows come first everywhere in this package, but recurrent operators have the layers or
// directions of their states before them.

import type { DataOf, Dtype } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';

/** From the front to dimension `axis`. */
export function rowsTo(tensor: Tensor, axis: number): Tensor {
  const [rows, ...row] = tensor.shape;
  return swapped(tensor, [rows!, ...row.slice(0, axis)], row.toSpliced(axis, 0, rows!));
}

/** From dimension `axis` to the front. A tensor of fewer dimensions is returned unchanged. */
export function rowsFrom(tensor: Tensor, axis: number): Tensor {
  const { shape } = tensor;
  const rows = shape[axis];
  if (rows === undefined) return tensor;
  const before = shape.slice(0, axis);
  const count = before.reduce((product, size) => product * size, 1);
  return swapped(tensor, [count, rows], [rows, ...before, ...shape.slice(axis + 1)]);
}

/** Swaps the first of the leading dimensions with all others of them. */
function swapped({ dtype, data, shape: own }: Tensor, leading: readonly number[], shape: readonly number[]): Tensor {
  const [first, ...others] = leading;
  const second = others.reduce((product, size) => product * size, 1);
  const length = own.reduce((product, size) => product * size, 1) / Math.max(1, first! * second);
  const source = data as Float32Array;
  const target = source.slice();
  for (let i = 0; i < first!; i++) {
    for (let j = 0; j < second; j++) {
      const from = (i * second + j) * length;
      const to = (j * first! + i) * length;
      for (let k = 0; k < length; k++) target[to + k] = source[from + k]!;
    }
  }
  return new Tensor(dtype, target as unknown as DataOf[Dtype], shape);
}
