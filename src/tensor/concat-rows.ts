// Joins tensors along the batch axis without copying when they already lie one after the other in memory, as
// the tensors of one batch do.

import type { Dtype } from './dtype.js';
import { sameShape } from './shape.js';
import { Tensor } from './tensor.js';

/** As {@link Tensor.concat}, but a view where possible: for tensors that belong to the caller. */
export function concatRows<D extends Dtype>(tensors: readonly Tensor<D>[]): Tensor<D> {
  return adjacent(tensors) ?? Tensor.concat(tensors);
}

function adjacent<D extends Dtype>(tensors: readonly Tensor<D>[]): Tensor<D> | undefined {
  const first = tensors[0];
  if (first === undefined || tensors.length === 1) return first;
  if (!ArrayBuffer.isView(first.data) || first.shape.length === 0) return undefined;
  const start = first.data as unknown as Float32Array;
  const rest = first.shape.slice(1);
  let end = start.byteOffset;
  let rows = 0;
  for (const tensor of tensors) {
    const data = tensor.data as unknown as Float32Array;
    if (data.buffer !== start.buffer || data.byteOffset !== end) return undefined;
    if (tensor.dtype !== first.dtype || !sameShape(tensor.shape.slice(1), rest)) return undefined;
    end += data.byteLength;
    rows += tensor.shape[0]!;
  }
  const length = (end - start.byteOffset) / start.BYTES_PER_ELEMENT;
  const data = new (start.constructor as Float32ArrayConstructor)(start.buffer, start.byteOffset, length);
  return new Tensor(first.dtype, data as never, [rows, ...rest]);
}
