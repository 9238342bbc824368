// Converts the elements of a tensor to another dtype, each multiplied by a factor, such as bytes of an image to floats
// between 0 and 1. As everywhere, no number silently becomes another: floats round to the new type, all other numbers
// must fit exactly.

import { misuse } from '../errors.js';
import { type DataOf, type Dtype, DTYPES, isBytesDtype } from './dtype.js';
import { HALVES, isHalf } from './float16.js';
import { convertElements } from './nested.js';

/** Throws INVALID_ARG for strings and bytes, and for elements that do not fit, naming the first of them. */
export function castElements<To extends Dtype>(
  from: { readonly dtype: Dtype; readonly data: DataOf[Dtype] },
  dtype: To,
  scale: number,
): DataOf[To] {
  if (!Number.isFinite(scale)) throw misuse(`the scale of a cast must be a finite number, got ${String(scale)}`);
  if (isBytesDtype(from.dtype) || isBytesDtype(dtype)) {
    throw misuse(`a ${from.dtype} tensor does not cast to ${dtype}, only numbers do`);
  }
  const values = numbersOf(from) as ArrayLike<number | bigint>;
  const floats = quickFloats(values, dtype, scale);
  if (floats !== undefined) return floats as DataOf[To];
  return convertElements(dtype, scale === 1 ? values : scaled(values, dtype, scale));
}

/** The numbers of the data: the data itself, or the numbers of 16-bit floats. */
export function numbersOf(tensor: { readonly dtype: Dtype; readonly data: DataOf[Dtype] }): ArrayLike<unknown> {
  return isHalf(tensor.dtype) ? HALVES[tensor.dtype].decode(tensor.data as Uint16Array) : tensor.data;
}

/** A fast conversion for images, in one pass; undefined where elements need checks. */
function quickFloats(values: ArrayLike<number | bigint>, dtype: Dtype, scale: number): Float32Array | undefined {
  if (dtype !== 'float32' || values instanceof BigInt64Array || values instanceof BigUint64Array) return undefined;
  const numbers = values as ArrayLike<number>;
  const floats = new Float32Array(numbers.length);
  for (let i = 0; i < floats.length; i++) {
    floats[i] = numbers[i]! * scale;
    if (!Number.isFinite(floats[i]) && Number.isFinite(numbers[i])) return undefined;
  }
  return floats;
}

function scaled(values: ArrayLike<number | bigint>, dtype: Dtype, scale: number): Float64Array {
  // A number does not multiply 64-bit integers exactly.
  const isWide = DTYPES[dtype].kind === 'wide';
  const factor = exactly(scale);
  const products = new Float64Array(values.length);
  for (let i = 0; i < products.length; i++) {
    const value = Number(values[i]);
    const product =
      Number.isSafeInteger(value) || typeof values[i] === 'number' ? value * scale : times(values[i] as bigint, factor);
    const isLost =
      isWide && Number.isInteger(product) && !(Number.isSafeInteger(product) && Number.isSafeInteger(value));
    if (isLost || (!Number.isFinite(product) && Number.isFinite(value))) {
      throw misuse(`element ${i} does not fit ${dtype}: ${String(values[i])} times ${scale} is too large to be exact`);
    }
    products[i] = product;
  }
  return products;
}

/** A finite number: `units` times `step`, a power of two. */
interface Factor {
  readonly units: bigint;
  readonly step: number;
}

function exactly(value: number): Factor {
  let step = 1;
  for (; !Number.isInteger(value); step /= 2) value *= 2;
  return { units: BigInt(value), step };
}

/** The product, rounded once. */
function times(value: bigint, { units, step }: Factor): number {
  return Number(value * units) * step;
}
