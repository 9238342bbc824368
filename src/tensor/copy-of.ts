// Copies a tensor with its elements, for those who keep one whose memory is somebody else's.

import type { DataOf, Dtype } from './dtype.js';
import { Tensor } from './tensor.js';

/** A tensor that shares nothing with the given one. */
export function copyOf<D extends Dtype>({ dtype, data, shape }: Tensor<D>): Tensor<D> {
  const copy = dtype === 'bytes' ? (data as DataOf['bytes']).map((element) => new Uint8Array(element)) : data.slice();
  return new Tensor(dtype, copy as DataOf[D], shape);
}
