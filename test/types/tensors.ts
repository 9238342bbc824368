// What the values are: `Tensor` by dtype, its data, its elements.
import { Tensor, type Dtype, type DtypeLike, type Nested, type TensorLike, type ToDtype } from 'tstriton';

import type { Equal, Expect } from './expect-type.js';

/** The data of each dtype. */
export type DataTypes = [
  Expect<Equal<Tensor<'bool'>['data'], Uint8Array>>,
  Expect<Equal<Tensor<'uint8'>['data'], Uint8Array>>,
  Expect<Equal<Tensor<'uint16'>['data'], Uint16Array>>,
  Expect<Equal<Tensor<'uint32'>['data'], Uint32Array>>,
  Expect<Equal<Tensor<'uint64'>['data'], BigUint64Array>>,
  Expect<Equal<Tensor<'int8'>['data'], Int8Array>>,
  Expect<Equal<Tensor<'int16'>['data'], Int16Array>>,
  Expect<Equal<Tensor<'int32'>['data'], Int32Array>>,
  Expect<Equal<Tensor<'int64'>['data'], BigInt64Array>>,
  Expect<Equal<Tensor<'float16'>['data'], Uint16Array>>,
  Expect<Equal<Tensor<'bfloat16'>['data'], Uint16Array>>,
  Expect<Equal<Tensor<'float32'>['data'], Float32Array>>,
  Expect<Equal<Tensor<'float64'>['data'], Float64Array>>,
  Expect<Equal<Tensor<'bytes'>['data'], Uint8Array[]>>,
  Expect<Equal<Tensor<'string'>['data'], string[]>>,
];

/** Every spelling of every dtype. */
export type Spellings = [
  Expect<Equal<ToDtype<Dtype>, Dtype>>,
  Expect<Equal<ToDtype<'BOOL'>, 'bool'>>,
  Expect<Equal<ToDtype<'UINT8'>, 'uint8'>>,
  Expect<Equal<ToDtype<'UINT16'>, 'uint16'>>,
  Expect<Equal<ToDtype<'UINT32'>, 'uint32'>>,
  Expect<Equal<ToDtype<'UINT64'>, 'uint64'>>,
  Expect<Equal<ToDtype<'INT8'>, 'int8'>>,
  Expect<Equal<ToDtype<'INT16'>, 'int16'>>,
  Expect<Equal<ToDtype<'INT32'>, 'int32'>>,
  Expect<Equal<ToDtype<'INT64'>, 'int64'>>,
  Expect<Equal<ToDtype<'FP16'>, 'float16'>>,
  Expect<Equal<ToDtype<'BF16'>, 'bfloat16'>>,
  Expect<Equal<ToDtype<'FP32'>, 'float32'>>,
  Expect<Equal<ToDtype<'FP64'>, 'float64'>>,
  Expect<Equal<ToDtype<'BYTES'>, 'bytes'>>,
  Expect<Equal<ToDtype<typeof Uint8Array>, 'uint8'>>,
  Expect<Equal<ToDtype<typeof Uint16Array>, 'uint16'>>,
  Expect<Equal<ToDtype<typeof Uint32Array>, 'uint32'>>,
  Expect<Equal<ToDtype<typeof BigUint64Array>, 'uint64'>>,
  Expect<Equal<ToDtype<typeof Int8Array>, 'int8'>>,
  Expect<Equal<ToDtype<typeof Int16Array>, 'int16'>>,
  Expect<Equal<ToDtype<typeof Int32Array>, 'int32'>>,
  Expect<Equal<ToDtype<typeof BigInt64Array>, 'int64'>>,
  Expect<Equal<ToDtype<typeof Float32Array>, 'float32'>>,
  Expect<Equal<ToDtype<typeof Float64Array>, 'float64'>>,
];

// @ts-expect-error No such dtype.
export const unknownName: DtypeLike = 'float33';
// @ts-expect-error The names of the wire are in capitals.
export const lowerCase: DtypeLike = 'fp32';
// @ts-expect-error numpy's other names are not taken: 'bytes' is exact bytes.
export const numpyObject: DtypeLike = 'object';
// @ts-expect-error Nor is this one.
export const numpyBytes: DtypeLike = 'bytes_';
// @ts-expect-error Nor this one: 'string' is text.
export const numpyText: DtypeLike = 'str_';
// @ts-expect-error Clamped arrays belong to no dtype.
export const clamped: DtypeLike = Uint8ClampedArray;
// @ts-expect-error Neither do plain arrays.
export const plain: DtypeLike = Array;

/** Constructing keeps the dtype, and everything that follows keeps it too. */
const vector = new Tensor('int64', BigInt64Array.of(1n, 2n), [2, 1]);
export type VectorType = Expect<Equal<typeof vector, Tensor<'int64'>>>;
export const parts: [Tensor<'int64'>, Tensor<'int64'>[], Tensor<'int64'>, Tensor<'int64'>[], Tensor<'int64'>] = [
  vector.row(0),
  vector.rows(),
  vector.slice(0, 1),
  vector.split([1, 1]),
  vector.reshape([2]),
];
export const joined: [Tensor<'int64'>, Tensor<'int64'>] = [Tensor.concat([vector]), Tensor.stack([vector])];
export const doubled: Tensor<'int64'> = vector.map((value: bigint) => 2n * value);
export const nested: Nested = vector.toNested();
export const fromNested: Tensor<'uint8'> = Tensor.from('uint8', [
  [1, 2],
  [3, 4],
]);
export const half: Tensor<'float16'> = Tensor.fromFloat32('float16', [0.5]);
export const anyTensor: Tensor = vector;

/** `is` narrows what came from anywhere. */
export function dtypeOfUnknown(value: unknown): Dtype | undefined {
  return Tensor.is(value) ? value.dtype : undefined;
}

/** A switch over the dtype of any tensor knows its data. */
export function sum(tensor: Tensor<'float32'> | Tensor<'int64'>): number | bigint {
  return tensor.dtype === 'int64' ? tensor.data[0]! : tensor.data[0]!;
}

// @ts-expect-error 32-bit integers are no data of int64.
export const narrow = new Tensor('int64', Int32Array.of(1));
// @ts-expect-error Neither are plain numbers.
export const numbers = new Tensor('int64', [1]);
// @ts-expect-error Nor unsigned ones.
export const unsigned = new Tensor('int64', BigUint64Array.of(1n));
// @ts-expect-error float16 is raw bits; Tensor.fromFloat32 converts.
export const notBits = new Tensor('float16', Float32Array.of(1));
// @ts-expect-error Strings are no bytes.
export const notBytes = new Tensor('bytes', ['a']);
// @ts-expect-error No such dtype.
export const noDtype = new Tensor('float33', Float32Array.of(1));
// @ts-expect-error A shape is a list.
export const noShape = new Tensor('float32', Float32Array.of(1), 1);
// @ts-expect-error Only the 16-bit floats have bits to convert to.
export const noHalf = Tensor.fromFloat32('float32', [1]);
// @ts-expect-error Tensors of different dtypes do not join.
export const mixed: Tensor<'int64'> = Tensor.concat([vector, half]);
// @ts-expect-error bigint elements stay bigints.
export const mapped = vector.map((value) => Number(value));
// @ts-expect-error A tensor's shape is not to be changed.
vector.shape.push(1);

/** What stands for a tensor of a dtype: a Tensor, its data, nested arrays of its elements. */
export const forFloat32: TensorLike<'float32'>[] = [
  new Tensor('float32', Float32Array.of(1)),
  Float32Array.of(1),
  [1],
  [[1], [2]],
  [[[true]]],
];
export const forInt64: TensorLike<'int64'>[] = [vector, BigInt64Array.of(1n), [1n], [1], [[2n ** 60n]]];
export const forBytes: TensorLike<'bytes'>[] = [[Uint8Array.of(0)], [[Uint8Array.of(0), 'text']]];
export const forString: TensorLike<'string'>[] = [['a'], [['a'], ['b']]];

// @ts-expect-error Another dtype.
export const wrongTensor: TensorLike<'float32'> = new Tensor('float64', Float64Array.of(1));
// @ts-expect-error Another dtype with the same data.
export const sameData: TensorLike<'uint8'> = new Tensor('bool', Uint8Array.of(1));
// What `Tensor` says nothing of, run time checks.
export const untyped: TensorLike<'float32'> = anyTensor;
// @ts-expect-error A tensor of any dtype at all, which is said.
export const wrongAny: TensorLike<'float32'> = anyTensor as Tensor<Dtype>;
// @ts-expect-error Data of another dtype.
export const wrongData: TensorLike<'float32'> = Float64Array.of(1);
// @ts-expect-error Integers are not rounded floats.
export const wrongBigints: TensorLike<'int32'> = BigInt64Array.of(1n);
// @ts-expect-error Strings are no numbers.
export const wrongElements: TensorLike<'float32'> = [['1']];
// @ts-expect-error Numbers are no strings.
export const wrongStrings: TensorLike<'string'> = [1];
