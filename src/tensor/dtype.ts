// The datatypes of the protocol under their three spellings: numpy's name (ours inside), a typed-array
// constructor, and Triton's name (the wire's). One table; all types and lookups derive from it.

import { TritonError } from '../errors.js';
import { dtypeHint } from './dtype-hint.js';
import { float16ArrayBits } from './float16.js';

/** What `Tensor.data` is for each dtype. `bool` holds 0 or 1; `float16` and `bfloat16` hold raw bits. */
export interface DataOf {
  bool: Uint8Array;
  uint8: Uint8Array;
  uint16: Uint16Array;
  uint32: Uint32Array;
  uint64: BigUint64Array;
  int8: Int8Array;
  int16: Int16Array;
  int32: Int32Array;
  int64: BigInt64Array;
  float16: Uint16Array;
  bfloat16: Uint16Array;
  float32: Float32Array;
  float64: Float64Array;
  bytes: Uint8Array[];
  string: string[];
}

/** Node has a `Float16Array` from 24 on, and so may the compiler's library: without one these are `never`. */
export type Float16Data = typeof globalThis extends { Float16Array: { readonly prototype: infer A } } ? A : never;
type Float16Constructor = typeof globalThis extends { Float16Array: infer C } ? readonly [C, 'float16'] : never;

/** What makes a tensor's data: what it holds, or for `float16` a `Float16Array` too, whose bits it then holds. */
export type DataLike<D extends Dtype> = DataOf[D] | (D extends 'float16' ? Float16Data : never);

/** numpy's name of a datatype; `bytes` and `string` are both BYTES on the wire. */
export type Dtype = keyof DataOf;
/** Dtypes whose data is a typed array. */
export type NumericDtype = Exclude<Dtype, 'bytes' | 'string'>;
/** The names that the protocol uses on the wire. */
export type Datatype = (typeof DTYPES)[Dtype]['datatype'];

export const DTYPES = {
  bool: { datatype: 'BOOL', byteSize: 1, array: Uint8Array },
  uint8: { datatype: 'UINT8', byteSize: 1, array: Uint8Array },
  uint16: { datatype: 'UINT16', byteSize: 2, array: Uint16Array },
  uint32: { datatype: 'UINT32', byteSize: 4, array: Uint32Array },
  uint64: { datatype: 'UINT64', byteSize: 8, array: BigUint64Array },
  int8: { datatype: 'INT8', byteSize: 1, array: Int8Array },
  int16: { datatype: 'INT16', byteSize: 2, array: Int16Array },
  int32: { datatype: 'INT32', byteSize: 4, array: Int32Array },
  int64: { datatype: 'INT64', byteSize: 8, array: BigInt64Array },
  float16: { datatype: 'FP16', byteSize: 2, array: Uint16Array },
  float32: { datatype: 'FP32', byteSize: 4, array: Float32Array },
  float64: { datatype: 'FP64', byteSize: 8, array: Float64Array },
  bytes: { datatype: 'BYTES', byteSize: 0, array: undefined },
  string: { datatype: 'BYTES', byteSize: 0, array: undefined },
  bfloat16: { datatype: 'BF16', byteSize: 2, array: Uint16Array },
} as const;

/** Bytes of one element on the wire; 0 for BYTES, whose elements vary. */
export const DATATYPE_BYTE_SIZE: Readonly<Record<Datatype, number>> = Object.fromEntries(
  Object.values(DTYPES).map(({ datatype, byteSize }) => [datatype, byteSize]),
) as Record<Datatype, number>;

interface NameToDtype {
  BOOL: 'bool';
  UINT8: 'uint8';
  UINT16: 'uint16';
  UINT32: 'uint32';
  UINT64: 'uint64';
  INT8: 'int8';
  INT16: 'int16';
  INT32: 'int32';
  INT64: 'int64';
  FP16: 'float16';
  BF16: 'bfloat16';
  FP32: 'float32';
  FP64: 'float64';
  BYTES: 'bytes';
}

type ConstructorDtype =
  | readonly [Uint8ArrayConstructor, 'uint8']
  | readonly [Uint16ArrayConstructor, 'uint16']
  | readonly [Uint32ArrayConstructor, 'uint32']
  | readonly [BigUint64ArrayConstructor, 'uint64']
  | readonly [Int8ArrayConstructor, 'int8']
  | readonly [Int16ArrayConstructor, 'int16']
  | readonly [Int32ArrayConstructor, 'int32']
  | readonly [BigInt64ArrayConstructor, 'int64']
  | readonly [Float32ArrayConstructor, 'float32']
  | readonly [Float64ArrayConstructor, 'float64']
  // oxlint-disable-next-line typescript/no-redundant-type-constituents -- `never` with this project's library only
  | Float16Constructor;

/** The three ways to name a dtype: `'float32'`, `Float32Array` or `'FP32'`. */
export type DtypeLike = Dtype | Datatype | ConstructorDtype[0];

/** The dtype that a spelling stands for. */
export type ToDtype<D> = D extends Dtype
  ? D
  : D extends keyof NameToDtype
    ? NameToDtype[D]
    : Extract<ConstructorDtype, readonly [D, unknown]>[1];

const { Float16Array } = globalThis as { readonly Float16Array?: unknown };
const BY_NAME: ReadonlyMap<unknown, Dtype> = new Map<unknown, Dtype>([
  ...(Object.keys(DTYPES) as Dtype[]).map((dtype) => [dtype, dtype] as const),
  ...(Object.keys(DTYPES) as Dtype[])
    .filter((dtype) => dtype !== 'string')
    .map((dtype) => [DTYPES[dtype].datatype, dtype] as const),
  [Uint8Array, 'uint8'],
  [Uint16Array, 'uint16'],
  [Uint32Array, 'uint32'],
  [BigUint64Array, 'uint64'],
  [Int8Array, 'int8'],
  [Int16Array, 'int16'],
  [Int32Array, 'int32'],
  [BigInt64Array, 'int64'],
  [Float32Array, 'float32'],
  [Float64Array, 'float64'],
  ...(Float16Array === undefined ? [] : [[Float16Array, 'float16'] as const]),
]);

/** The dtype that a spelling stands for. Throws INVALID_ARG when it is none of them. */
export function parseDtype(like: unknown): Dtype {
  const dtype = BY_NAME.get(like);
  if (dtype === undefined) {
    const got = typeof like === 'function' ? like.name || 'a function' : (JSON.stringify(like) ?? String(like));
    const names = Object.keys(DTYPES);
    throw new TritonError(
      'INVALID_ARG',
      `unknown dtype ${got}${dtypeHint(like, names)}, expected numpy's name (${names.join(', ')}), a typed-array constructor such as Float32Array, or Triton's name such as 'FP32'`,
    );
  }
  return dtype;
}

/** True for a datatype name of the wire, such as `FP32`. */
export function isDatatype(name: string): name is Datatype {
  return Object.hasOwn(DATATYPE_BYTE_SIZE, name);
}

/** The dtype that a datatype of the wire becomes when no spec says otherwise: BYTES becomes `bytes`. */
export function dtypeOf(datatype: Datatype): Dtype {
  return parseDtype(datatype);
}

/** True when the dtype's elements are bytes or strings rather than numbers. */
export function isBytesDtype(dtype: Dtype): dtype is 'bytes' | 'string' {
  return dtype === 'bytes' || dtype === 'string';
}

/** True when `data` is the kind of array that tensors of this dtype hold; false for what is no dtype at all. */
export function isDataOf(dtype: Dtype, data: unknown): boolean {
  // Runs for every tensor: constant constructors are checked several times faster than one looked up in DTYPES.
  switch (dtype) {
    case 'float32':
      return data instanceof Float32Array;
    case 'float64':
      return data instanceof Float64Array;
    case 'float16':
    case 'bfloat16':
    case 'uint16':
      return data instanceof Uint16Array;
    case 'bool':
    case 'uint8':
      return data instanceof Uint8Array;
    case 'uint32':
      return data instanceof Uint32Array;
    case 'uint64':
      return data instanceof BigUint64Array;
    case 'int8':
      return data instanceof Int8Array;
    case 'int16':
      return data instanceof Int16Array;
    case 'int32':
      return data instanceof Int32Array;
    case 'int64':
      return data instanceof BigInt64Array;
    case 'bytes':
    case 'string':
      return Array.isArray(data);
    default:
      // Only code without types gets here.
      return false;
  }
}

/** `data` as tensors of this dtype hold it: itself, or the bits of a `Float16Array`. Undefined when it is of no such kind. */
export function toDataOf<D extends Dtype>(dtype: D, data: unknown): DataOf[D] | undefined {
  if (isDataOf(dtype, data)) return data as DataOf[D];
  return dtype === 'float16' ? (float16ArrayBits(data) as DataOf[D] | undefined) : undefined;
}
