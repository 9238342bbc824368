// One value that the user passed for an input, as a Tensor.

import { TritonError } from '../errors.js';
import { DTYPES, toDataOf, type Dtype } from '../tensor/dtype.js';
import { flattenNested, type Nested } from '../tensor/nested.js';
import { elementCount, formatShape } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';

/**
 * A Tensor is taken as it is. Flat data gets its shape from `expected`, in which one dimension at most may be open;
 * nested arrays have a shape of their own. `what` names the input in messages. Throws INVALID_ARG.
 */
export function toTensor(value: unknown, dtype: Dtype, expected: readonly number[], what: string): Tensor {
  if (Tensor.is(value)) return value;
  const isElement = dtype === 'bytes' && value instanceof Uint8Array;
  if (ArrayBuffer.isView(value) && !isElement) {
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
  if (!isElement && !Array.isArray(value) && !SCALARS.includes(typeof value)) {
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

const SCALARS = ['number', 'bigint', 'boolean', 'string'];

function withArticle(name: string): string {
  return `${/^[AEIOU]/i.test(name) && !name.startsWith('Uint') ? 'an' : 'a'} ${name}`;
}

function fromPlain(value: Nested, dtype: Dtype, expected: readonly number[], what: string): Tensor {
  let flat;
  try {
    flat = flattenNested(dtype, value);
  } catch (error) {
    throw new TritonError('INVALID_ARG', `${what}: ${TritonError.from(error).message}`, { cause: error });
  }
  const { data, shape } = flat;
  // One value, or a flat list where something else is expected.
  if (shape.length === expected.length || shape.length > 1) return new Tensor(dtype, data, shape);
  const got = `${what} is a ${shape.length === 0 ? 'single value' : `flat list of ${data.length} values`}`;
  return new Tensor(dtype, data, shapeOfFlat(data.length, expected, got));
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
