// Turns a typed array or plain nested arrays into a Tensor, for outputs of callables and defaults of optional inputs.
// Data without a shape of its own gets the declared shape.

import { TritonError } from '../errors.js';
import { type DataOf, type Dtype, isBytesDtype, toDataOf } from '../tensor/dtype.js';
import { type ForeignTensor, isTensorLike } from '../tensor/foreign-tensor.js';
import { flattenNested, type Nested } from '../tensor/nested.js';
import { elementCount, formatShape } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';
import { describeValue } from '../checks/check.js';

export interface ExpectedTensor {
  /** Names the value in messages. */
  readonly what: string;
  readonly dtype: Dtype;
  /** With the batch axis where there is one; -1 stands for any size. */
  readonly shape: readonly number[];
  /** The shape as the user declared it, for messages. */
  readonly declared: readonly number[];
  /** Whether a Tensor of another dtype would do. */
  readonly converts: boolean;
}

/** Throws INTERNAL, because the value is the server's own, when it cannot be a tensor of that dtype. */
export function tensorFromValue(value: unknown, expected: ExpectedTensor): Tensor {
  const { what, dtype, converts } = expected;
  if (ArrayBuffer.isView(value)) {
    const data = toDataOf(dtype, value);
    if (data === undefined) {
      const hint = isBytesDtype(dtype)
        ? 'a Tensor or an array of elements'
        : `${dtype}${converts ? '; wrap it in a Tensor to have it converted' : ''}`;
      throw fail(`${what} is ${describeValue(value)}, expected ${hint}`);
    }
    return new Tensor(dtype, data, shapeOfFlat(data.length, expected));
  }
  if (!Array.isArray(value)) {
    const foreign = foreignTensor(value, what);
    if (foreign !== undefined) return foreign;
    throw fail(`${what} is ${describeValue(value)}, expected a Tensor, a typed array or nested arrays`);
  }
  const { data, shape } = flatten(value as Nested, expected);
  const isFlat = shape.length === 1 && expected.shape.length !== 1;
  return new Tensor(dtype, data, isFlat ? shapeOfFlat(data.length, expected) : shape);
}

/**
 * Another library's tensor as a Tensor of its own dtype; undefined for a value that is not meant as a tensor. Throws
 * INTERNAL, naming the missing member, for an incomplete one.
 */
export function foreignTensor(value: unknown, what: string): Tensor | undefined {
  if (!isTensorLike(value)) return undefined;
  try {
    return Tensor.from(value as ForeignTensor);
  } catch (error) {
    const { message } = TritonError.from(error);
    throw new TritonError('INTERNAL', `${what}: ${message}`, { cause: error });
  }
}

function fail(message: string): TritonError {
  return new TritonError('INTERNAL', message);
}

function flatten(values: Nested, { dtype, what }: ExpectedTensor): { data: DataOf[Dtype]; shape: number[] } {
  try {
    return flattenNested(dtype, values);
  } catch (error) {
    throw fail(`${what}: ${TritonError.from(error).message}`);
  }
}

/** The shape of data that came without one: the expected dimensions, of which at most one may be open. */
function shapeOfFlat(length: number, { what, shape: expected, declared }: ExpectedTensor): number[] {
  const shape = [...expected];
  const open = shape.indexOf(-1);
  if (open !== shape.lastIndexOf(-1)) {
    throw fail(
      `${what} is an array without a shape, and ${formatShape(declared)} has more than one open dimension; return a Tensor`,
    );
  }
  if (open >= 0) {
    const known = elementCount(shape.filter((dim) => dim !== -1));
    shape[open] = known === 0 ? 0 : length / known;
  }
  if (shape.some((dim) => !Number.isInteger(dim)) || elementCount(shape) !== length) {
    throw fail(`${what} has ${length} elements, which do not fill the shape ${formatShape(expected)}`);
  }
  return shape;
}
