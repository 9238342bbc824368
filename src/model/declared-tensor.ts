// A tensor that a declaration gives by its value: what a state begins with, or an input that never changes.

import { invalidArg, TritonError } from '../errors.js';
import { type Dtype, isBytesDtype } from '../tensor/dtype.js';
import { elementCount, formatShape } from '../tensor/shape.js';
import type { Tensor } from '../tensor/tensor.js';
import type { SequenceStateSpec } from './sequence-batching.js';
import { tensorFromValue } from './tensor-from-value.js';

/** One value for all elements, all elements flat or nested, or a Tensor. */
export type DeclaredValue = NonNullable<SequenceStateSpec['initial']>;

export interface DeclaredTensor {
  readonly dtype: Dtype;
  /** -1 stands for any size. One value for all elements makes it 1. */
  readonly shape: readonly number[];
  /** Names the value in messages. */
  readonly what: string;
}

/** Without a value the tensor has zeros, or empty strings. Throws INVALID_ARG where the value does not fit. */
export function declaredTensor(value: unknown, { dtype, shape, what }: DeclaredTensor): Tensor {
  const isFilled = value === undefined || typeof value !== 'object' || value === null;
  const expected = isFilled ? shape.map((dim) => (dim === -1 ? 1 : dim)) : shape;
  const values = isFilled ? new Array(elementCount(expected)).fill(value ?? emptyElement(dtype)) : value;
  try {
    const tensor = tensorFromValue(values, { what, dtype, shape: expected, declared: shape, converts: false });
    if (tensor.dtype !== dtype) throw invalidArg(`${what} must be of ${dtype}, got a tensor of ${tensor.dtype}`);
    const fits = tensor.shape.length === shape.length && shape.every((dim, i) => dim === -1 || dim === tensor.shape[i]);
    if (!fits) throw invalidArg(`${what} must have the shape ${formatShape(shape)}, got ${formatShape(tensor.shape)}`);
    return tensor;
  } catch (error) {
    throw invalidArg(TritonError.from(error).message, { cause: error });
  }
}

function emptyElement(dtype: Dtype): unknown {
  if (isBytesDtype(dtype)) return dtype === 'string' ? '' : new Uint8Array();
  return dtype === 'int64' || dtype === 'uint64' ? 0n : 0;
}
