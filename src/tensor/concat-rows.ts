// Joins tensors along the batch axis. It does not copy tensors that lie one after the other in memory, like the tensors
// of one batch.

import type { Dtype } from './dtype.js';
import { sameShape } from './shape.js';
import { Tensor } from './tensor.js';

/** Like {@link Tensor.concat}, but a view where possible, for tensors that belong to the caller. */
export function concatRows<D extends Dtype>(tensors: readonly Tensor<D>[]): Tensor<D> {
  const [first] = tensors;
  if (first === undefined || tensors.length === 1 || !lieTogether(tensors)) return Tensor.concat(tensors);
  const start = first.data as unknown as Float32Array;
  const length = tensors.reduce((sum, { data }) => sum + data.length, 0);
  const rows = tensors.reduce((sum, { shape }) => sum + shape[0]!, 0);
  const data = new (start.constructor as Float32ArrayConstructor)(start.buffer, start.byteOffset, length);
  return new Tensor(first.dtype, data as never, [rows, ...first.shape.slice(1)]);
}

/** Whether the rows lie one after the other in memory. */
export function lieTogether(tensors: readonly Tensor[]): boolean {
  const first = tensors[0]!;
  if (!ArrayBuffer.isView(first.data) || first.shape.length === 0) return false;
  const { buffer, byteOffset } = first.data;
  const row = first.shape.slice(1);
  let end = byteOffset;
  for (const { data, dtype, shape } of tensors) {
    const numbers = data as Uint8Array;
    if (numbers.buffer !== buffer || numbers.byteOffset !== end) return false;
    if (dtype !== first.dtype || !sameShape(shape.slice(1), row)) return false;
    end += numbers.byteLength;
  }
  return true;
}
