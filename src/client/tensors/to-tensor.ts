// One value that the user passed for an input, as a Tensor.

import { TritonError } from '../../errors.js';
import { DTYPES, toDataOf, type Dtype } from '../../tensor/dtype.js';
import { isTensorLike, type ForeignTensor } from '../../tensor/foreign-tensor.js';
import { flattenNested, type Nested } from '../../tensor/nested.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import { withArticle } from '../../tensor/tag-of.js';
import { Tensor } from '../../tensor/tensor.js';

/**
 * A Tensor is used unchanged. The data of a typed array gets its shape from `expected`, which may have at most one open dimension.
 * Lists have a shape of their own. `what` names the input in messages. Throws INVALID_ARG.
 */
export function toTensor(value: unknown, dtype: Dtype, expected: readonly number[], what: string): Tensor {
  if (Tensor.is(value)) return value;
  const isValue = isSingleValue(value, dtype);
  if (ArrayBuffer.isView(value) && !isValue) {
    const data = toDataOf(dtype, value);
    if (data === undefined) {
      const array = DTYPES[dtype].array?.name ?? (dtype === 'string' ? 'strings' : 'Uint8Arrays');
      throw new TritonError(
        'INVALID_ARG',
        `${what} is ${withArticle(value.constructor.name)}, expected ${array} for ${dtype}`,
      );
    }
    const got = `${what} is ${withArticle(value.constructor.name)} of ${data.length} elements`;
    return new Tensor(dtype, data, shapeOfFlat(data.length, expected, got));
  }
  if (isTensorLike(value)) return fromForeign(value as ForeignTensor, what);
  if (!isValue && !Array.isArray(value)) {
    const got =
      value === null
        ? 'null'
        : typeof value === 'object'
          ? withArticle(value.constructor?.name ?? 'record')
          : typeof value;
    throw new TritonError(
      'INVALID_ARG',
      `${what} is ${got}, expected a Tensor, a typed array, a value or nested arrays of values`,
    );
  }
  return fromPlain(value as Nested, dtype, expected, what);
}

/** Whether a value is one element: a tensor without dimensions, or all that a tensor of one element has. */
export function isSingleValue(value: unknown, dtype: Dtype): boolean {
  if (dtype === 'bytes' && value instanceof Uint8Array) return true;
  return ['number', 'bigint', 'boolean', 'string'].includes(typeof value);
}

function fromForeign(value: ForeignTensor, what: string): Tensor {
  try {
    return Tensor.from(value);
  } catch (error) {
    throw new TritonError('INVALID_ARG', `${what}: ${TritonError.from(error).message}`, { cause: error });
  }
}

function fromPlain(value: Nested, dtype: Dtype, expected: readonly number[], what: string): Tensor {
  let flat;
  try {
    flat = flattenNested(dtype, value);
  } catch (error) {
    throw new TritonError('INVALID_ARG', `${what}: ${TritonError.from(error).message}`, { cause: error });
  }
  const { data, shape } = flat;
  // Lists have a shape; one value stands for a tensor of one element.
  const own = shape.length > 0 ? shape : shapeOfFlat(data.length, expected, `${what} is a single value`);
  return new Tensor(dtype, data, own);
}

function shapeOfFlat(length: number, expected: readonly number[], what: string): readonly number[] {
  const open = expected.filter((dim) => dim === -1).length;
  if (open > 1) {
    throw new TritonError(
      'INVALID_ARG',
      `${what}, but ${open} dimensions of the shape ${formatShape(expected)} are open: pass a Tensor, which has its own shape`,
    );
  }
  const fixed = elementCount(expected.filter((dim) => dim !== -1));
  const rest = fixed === 0 ? 0 : length / fixed;
  if (open === 0 ? length !== fixed : !Number.isInteger(rest) || rest * fixed !== length) {
    throw new TritonError(
      'INVALID_ARG',
      `${what}, expected ${open === 0 ? fixed : `a multiple of ${fixed}`} for shape ${formatShape(expected)}`,
    );
  }
  return expected.map((dim) => (dim === -1 ? rest : dim));
}
