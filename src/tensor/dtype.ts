// One table lists the datatypes of the protocol under their three spellings: numpy's name (used inside), a typed-array
// constructor, and Triton's name (used on the wire). All types and lookups derive from it.

import { misuse } from '../errors.js';
import { dtypeHint } from './dtype-hint.js';
import { float16ArrayBits } from './float16.js';

/** The type of `Tensor.data` for each dtype. `bool` holds 0 or 1; `float16` and `bfloat16` hold raw bits. */
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

/**
 * Node has a `Float16Array` from 24 on, and the compiler's library may declare it. Without the declaration these types
 * are `never`.
 */
export type Float16Data = typeof globalThis extends { Float16Array: { readonly prototype: infer A } } ? A : never;
type Float16Constructor = typeof globalThis extends { Float16Array: infer C } ? readonly [C, 'float16'] : never;

/**
 * Values that can be a tensor's data: the array that it holds, or for `float16` also a `Float16Array`, whose bits it
 * then holds.
 */
export type DataLike<D extends Dtype> = DataOf[D] | (D extends 'float16' ? Float16Data : never);

/** numpy's name of a datatype; `bytes` and `string` are both BYTES on the wire. */
export type Dtype = keyof DataOf;
/** A dtype that is known at run time only: such a tensor is taken wherever a tensor of one dtype is. */
// oxlint-disable-next-line typescript/no-explicit-any -- TypeScript's word for it: nothing else fits every dtype
export type AnyDtype = any;
/** Dtypes whose data is a typed array. */
export type NumericDtype = Exclude<Dtype, 'bytes' | 'string'>;
/** The names of the protocol on the wire. */
export type Datatype = (typeof DTYPES)[Dtype]['datatype'];

/**
 * The traits of each dtype. `kind` is the way to write and read its elements: `integer` up to 32 bits, `wide` with 64,
 * `half` as raw bits. Neither JSON nor typed contents carry `half`. `range` limits an element: the least and the largest
 * integer, or the first magnitudes of a float that round to infinity.
 */
export const DTYPES = {
  bool: { datatype: 'BOOL', kind: 'bool', byteSize: 1, array: Uint8Array, range: [0, 1] },
  uint8: { datatype: 'UINT8', kind: 'integer', byteSize: 1, array: Uint8Array, range: [0, 255] },
  uint16: { datatype: 'UINT16', kind: 'integer', byteSize: 2, array: Uint16Array, range: [0, 65_535] },
  uint32: { datatype: 'UINT32', kind: 'integer', byteSize: 4, array: Uint32Array, range: [0, 4_294_967_295] },
  uint64: { datatype: 'UINT64', kind: 'wide', byteSize: 8, array: BigUint64Array, range: [0n, 2n ** 64n - 1n] },
  int8: { datatype: 'INT8', kind: 'integer', byteSize: 1, array: Int8Array, range: [-128, 127] },
  int16: { datatype: 'INT16', kind: 'integer', byteSize: 2, array: Int16Array, range: [-32_768, 32_767] },
  int32: { datatype: 'INT32', kind: 'integer', byteSize: 4, array: Int32Array, range: [-2_147_483_648, 2_147_483_647] },
  int64: { datatype: 'INT64', kind: 'wide', byteSize: 8, array: BigInt64Array, range: [-(2n ** 63n), 2n ** 63n - 1n] },
  float16: { datatype: 'FP16', kind: 'half', byteSize: 2, array: Uint16Array, range: within(65_520) },
  float32: { datatype: 'FP32', kind: 'float', byteSize: 4, array: Float32Array, range: within(2 ** 128 - 2 ** 103) },
  float64: { datatype: 'FP64', kind: 'float', byteSize: 8, array: Float64Array, range: within(Infinity) },
  bytes: { datatype: 'BYTES', kind: 'bytes', byteSize: 0, array: undefined, range: undefined },
  string: { datatype: 'BYTES', kind: 'bytes', byteSize: 0, array: undefined, range: undefined },
  bfloat16: { datatype: 'BF16', kind: 'half', byteSize: 2, array: Uint16Array, range: within(2 ** 128 - 2 ** 119) },
} as const;

function within(limit: number): readonly [number, number] {
  return [-limit, limit];
}

/** The traits of a datatype of the wire. */
export function traitsOf<D extends Datatype>(datatype: D): (typeof DTYPES)[ToDtype<D>] {
  return DTYPES[dtypeOf(datatype) as ToDtype<D>];
}

/** Bytes of one element on the wire; 0 for BYTES, whose elements vary. */
export const DATATYPE_BYTE_SIZE: Readonly<Record<Datatype, number>> = Object.fromEntries(
  Object.values(DTYPES).map(({ datatype, byteSize }) => [datatype, byteSize]),
) as Record<Datatype, number>;

type NameToDtype = { readonly [D in Exclude<Dtype, 'string'> as (typeof DTYPES)[D]['datatype']]: D };

/** A typed array stands for the dtype that holds plain numbers in it. */
type ConstructorDtype =
  | {
      [D in Dtype]: (typeof DTYPES)[D]['kind'] extends PlainKind ? readonly [(typeof DTYPES)[D]['array'], D] : never;
    }[Dtype]
  // oxlint-disable-next-line typescript/no-redundant-type-constituents -- `never` with this project's library only
  | Float16Constructor;
type PlainKind = 'integer' | 'wide' | 'float';

/** The three ways to name a dtype: `'float32'`, `Float32Array` or `'FP32'`. */
export type DtypeLike = Dtype | Datatype | ConstructorDtype[0];

/** The dtype that a spelling stands for. */
export type ToDtype<D> = D extends Dtype
  ? D
  : D extends keyof NameToDtype
    ? NameToDtype[D]
    : Extract<ConstructorDtype, readonly [D, unknown]>[1];

const { Float16Array } = globalThis as { readonly Float16Array?: unknown };
const BY_NAME = new Map<unknown, Dtype>(Object.keys(DTYPES).map((dtype) => [dtype, dtype as Dtype]));
for (const [dtype, { datatype, kind, array }] of Object.entries(DTYPES) as [Dtype, (typeof DTYPES)[Dtype]][]) {
  if (dtype !== 'string') BY_NAME.set(datatype, dtype);
  if (kind === 'integer' || kind === 'wide' || kind === 'float') BY_NAME.set(array, dtype);
}
if (Float16Array !== undefined) BY_NAME.set(Float16Array, 'float16');

/** The dtype that a spelling stands for. Throws INVALID_ARG when it is none of them. */
export function parseDtype(like: unknown): Dtype {
  const dtype = BY_NAME.get(like);
  if (dtype === undefined) {
    const got = typeof like === 'function' ? like.name || 'a function' : (JSON.stringify(like) ?? String(like));
    const names = Object.keys(DTYPES);
    throw misuse(
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
  return BY_NAME.get(datatype)!;
}

/** True when the values have an order to classify by. */
export function isClassified(dtype: Dtype): boolean {
  const { kind } = DTYPES[dtype];
  return kind === 'integer' || kind === 'wide' || kind === 'float';
}

/** True when the dtype's elements are bytes or strings rather than numbers. */
export function isBytesDtype(dtype: Dtype): dtype is 'bytes' | 'string' {
  return DTYPES[dtype].kind === 'bytes';
}

/** True when `data` is the kind of array that tensors of this dtype hold; false for an unknown dtype. */
export function isDataOf(dtype: Dtype, data: unknown): boolean {
  // This runs for every tensor. Checks of constant constructors are several times faster than a lookup in DTYPES.
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
      // Only code without types gets here. A new dtype without a case above does not compile.
      dtype satisfies never;
      return false;
  }
}

/**
 * `data` as tensors of this dtype hold it: itself, or the bits of a `Float16Array`. Undefined for any other kind of
 * data.
 */
export function toDataOf<D extends Dtype>(dtype: D, data: unknown): DataOf[D] | undefined {
  if (isDataOf(dtype, data)) return data as DataOf[D];
  return dtype === 'float16' ? (float16ArrayBits(data) as DataOf[D] | undefined) : undefined;
}
