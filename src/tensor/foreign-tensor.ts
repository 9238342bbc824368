// Accepts tensors of other libraries without a copy, and without importing the library. onnxruntime (node and web) and
// transformers.js name the dtypes as we do and keep the same typed arrays.

import { misuse, TritonError } from '../errors.js';
import { dtypeHint } from './dtype-hint.js';
import { type Dtype, DTYPES } from './dtype.js';
import { tagOf, withArticle } from './tag-of.js';

// A Tensor has this brand. The global symbol registry shares it, so that two copies of the package recognise each
// other's tensors.

export const BRAND: unique symbol = Symbol.for('tstriton.Tensor') as never;

interface ForeignData {
  /** A typed array, or a list of strings. */
  readonly data: unknown;
  /** Only our own tensors have the brand; the compiler knows their dtype. */
  readonly [BRAND]?: never;
}

/**
 * A tensor of another library, such as onnxruntime and transformers.js. It is an object with `data`, its sizes as
 * `dims` or `shape`, and its dtype's name as `type` or `dtype`.
 */
export type ForeignTensor =
  | (ForeignData & { readonly dims: readonly number[]; readonly type: string })
  | (ForeignData & { readonly dims: readonly number[]; readonly dtype: string })
  | (ForeignData & { readonly shape: readonly number[]; readonly type: string })
  | (ForeignData & { readonly shape: readonly number[]; readonly dtype: string });

/** The dtype of another library's tensor, as far as the compiler knows it. */
export type ForeignDtype<F> = KnownDtype<
  F extends { readonly type: infer Name } ? Name : F extends { readonly dtype: infer Name } ? Name : never
>;
type KnownDtype<Name> = [Extract<Name, Dtype>] extends [never] ? Dtype : Extract<Name, Dtype>;

/** The parts of a Tensor; the data is not checked yet. */
export interface TensorParts {
  readonly dtype: Dtype;
  readonly data: unknown;
  readonly shape: unknown;
}

const MEMBERS = ['data', 'dims', 'shape', 'type', 'dtype'] as const;
type Member = (typeof MEMBERS)[number];

/** True for an object with any member of a tensor: its author meant a tensor, complete or not. */
export function isTensorLike(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  // Spelled out: callables' outputs are looked at with every request.
  return 'data' in value || 'dims' in value || 'shape' in value || 'type' in value || 'dtype' in value;
}

/**
 * True for an object with all members of a tensor, each of the right kind. Cheap, because it does not read the data.
 */
export function isForeignTensor(value: unknown): value is ForeignTensor {
  if (!isTensorLike(value) || !('data' in value)) return false;
  const { dims, shape, type, dtype } = value as Partial<Record<Member, unknown>>;
  return Array.isArray(dims ?? shape) && typeof (type ?? dtype) === 'string';
}

/** The parts of another library's tensor. Throws INVALID_ARG, naming a missing part. */
export function partsOfForeign(value: unknown): TensorParts {
  if (!isTensorLike(value)) throw misuse(`expected ${FORM}, got ${kindOf(value)}`);
  const { dims, shape, type, dtype } = value as Partial<Record<Member, unknown>>;
  const lacking = [
    ...('data' in value ? [] : ['data']),
    ...((dims ?? shape) === undefined ? ['dims (or shape)'] : []),
    ...((type ?? dtype) === undefined ? ['type (or dtype)'] : []),
  ];
  if (lacking.length > 0) {
    const members = MEMBERS.filter((member) => member in value).join(' and ');
    throw misuse(`an object with ${members} is no tensor: it lacks ${lacking.join(' and ')}`);
  }
  return { dtype: dtypeOfName(type ?? dtype), data: dataOf(value), shape: dims ?? shape };
}

const FORM = 'a tensor: an object with data, dims (or shape) and type (or dtype)';

function dtypeOfName(name: unknown): Dtype {
  if (typeof name === 'string' && Object.hasOwn(DTYPES, name)) return name as Dtype;
  const known = Object.keys(DTYPES);
  const got = typeof name === 'string' ? JSON.stringify(name) : kindOf(name);
  throw misuse(`a tensor has the type ${got}${dtypeHint(name, known)}, expected one of ${known.join(', ')}`);
}

function dataOf(value: object): unknown {
  let data: unknown;
  try {
    ({ data } = value as { readonly data?: unknown });
  } catch (error) {
    // onnxruntime's tensors are read in another way while they lie on a GPU.
    throw misuse(`the data of a tensor cannot be read: ${TritonError.from(error).message}`, {
      cause: error,
    });
  }
  if (ArrayBuffer.isView(data) || Array.isArray(data)) return data;
  throw misuse(`the data of a tensor is ${kindOf(data)}, expected a typed array or a list of strings`);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value !== 'object') return `a ${typeof value}`;
  return Array.isArray(value) ? 'a list' : withArticle(tagOf(value));
}
