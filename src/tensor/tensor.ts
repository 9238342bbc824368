// Callables get and return a `Tensor`: dtype, data and shape, row-major. It is thin on purpose: views along the batch
// axis, conversions to and from nested arrays, no algebra.

import { misuse, type TritonError } from '../errors.js';
import { castElements, numbersOf } from './cast.js';
import { dtypeHint } from './dtype-hint.js';
import {
  type AnyDtype,
  type DataLike,
  type DataOf,
  type Dtype,
  DTYPES,
  isBytesDtype,
  type NumericDtype,
  toDataOf,
} from './dtype.js';
import { HALVES } from './float16.js';
import { BRAND, type ForeignDtype, type ForeignTensor, partsOfForeign } from './foreign-tensor.js';
import { flattenNested, nest, type Nested } from './nested.js';
import { elementCount, formatShape, sameShape } from './shape.js';
import { tagOf, withArticle } from './tag-of.js';

/** One element of a tensor's data. */
export type ElementOf<D extends Dtype> = DataOf[D][number];

/**
 * A dense row-major array with a dtype. `Tensor` alone is one whose dtype is known at run time only: the compiler then
 * takes it for a tensor of any.
 *
 * `data` holds `shape[0] × shape[1] × …` elements; a rank-0 shape `[]` holds one. The tensor does not copy `data`: it
 * is a view of the given array.
 *
 * @example
 * new Tensor('float32', Float32Array.of(1, 2, 3, 4), [2, 2])
 */
export class Tensor<D extends Dtype = AnyDtype> {
  /** numpy's name, such as `'float32'`. */
  readonly dtype: D;
  /** The elements in row-major order: a typed array, or a list of strings or of `Uint8Array`s. */
  readonly data: DataOf[D];
  /** The sizes of the axes; the first one counts rows where there is a batch axis. */
  readonly shape: readonly number[];
  declare readonly [BRAND]: true;

  /**
   * Throws INVALID_ARG when data and dtype, or data and shape, do not belong together. The elements of `string` and `bytes` are checked
   * where the tensor is used.
   */
  constructor(dtype: D, data: DataLike<D>, shape?: readonly number[]) {
    // Every request comes through here: no allocation, and an error text is made only for an error.
    const own = toDataOf(dtype, data);
    if (own === undefined) throw unfitData(dtype, data);
    if (shape === undefined) shape = [own.length];
    else if (!Array.isArray(shape) || countOf(shape) !== own.length) throw unfitShape(shape, own.length);
    this.dtype = dtype;
    this.data = own;
    this.shape = shape;
  }

  /** True for a Tensor of this or another copy of the package. */
  static is(value: unknown): value is Tensor {
    return typeof value === 'object' && value !== null && BRAND in value;
  }

  /**
   * A tensor from plain numbers, bigints, booleans, strings or (nested) arrays of them.
   * Without a `shape` the nesting gives it. Throws INVALID_ARG for ragged nesting and for values that do not fit.
   */
  static from<D extends Dtype>(dtype: D, values: Nested, shape?: readonly number[]): Tensor<D>;
  /**
   * Wraps another library's tensor, such as onnxruntime's or transformers.js's, without copying its data. Throws
   * INVALID_ARG naming a missing part.
   *
   * @example
   * const { logits } = await session.run(feeds);
   * return { logits: Tensor.from(logits).slice(0, rows) };
   */
  static from<F extends ForeignTensor | Tensor>(tensor: F): F extends Tensor ? F : Tensor<ForeignDtype<F>>;
  static from(given: unknown, values?: Nested, shape?: readonly number[]): Tensor {
    if (typeof given === 'object') return Tensor.is(given) ? given : fromForeign(given);
    const dtype = given as Dtype;
    if (!Object.hasOwn(DTYPES, dtype)) throw unknownDtype(dtype);
    if (values === undefined) throw misuse(`Tensor.from('${dtype}', values) needs values, got undefined`);
    const flat = flattenNested(dtype, values);
    return new Tensor(dtype, flat.data, shape ?? flat.shape);
  }

  /** A float16 or bfloat16 tensor from numbers, each rounded to the nearest value. */
  static fromFloat32<D extends 'float16' | 'bfloat16'>(
    dtype: D,
    values: ArrayLike<number>,
    shape: readonly number[] = [values.length],
  ): Tensor<D> {
    if (!Object.hasOwn(HALVES, dtype)) throw misuse(`Tensor.fromFloat32 takes float16 or bfloat16, got ${dtype}`);
    return new Tensor<D>(dtype, HALVES[dtype].encode(values) as DataOf[D], shape);
  }

  /** Joins tensors along the first axis; all other dimensions must agree. */
  static concat<D extends Dtype>(tensors: readonly Tensor<D>[]): Tensor<D> {
    expectTensors(tensors, 'concatenate');
    const first = tensors[0];
    if (first === undefined) throw misuse('cannot concatenate an empty list of tensors');
    if (tensors.length === 1) return first;
    let rows = 0;
    let elements = 0;
    for (const tensor of tensors) {
      if (
        tensor.dtype !== first.dtype ||
        tensor.shape.length === 0 ||
        !sameShape(tensor.shape.slice(1), first.shape.slice(1))
      ) {
        throw misuse(
          `cannot concatenate ${tensor.dtype} ${formatShape(tensor.shape)} with ${first.dtype} ${formatShape(first.shape)}: ` +
            'dtypes and the shapes of rows must be equal',
        );
      }
      rows += tensor.shape[0]!;
      elements += tensor.data.length;
    }
    const data = joinData(first.dtype, tensors, elements);
    return new Tensor(first.dtype, data, [rows, ...first.shape.slice(1)]);
  }

  /** Joins tensors of one shape along a new first axis. */
  static stack<D extends Dtype>(tensors: readonly Tensor<D>[]): Tensor<D> {
    expectTensors(tensors, 'stack');
    if (tensors.length === 0) throw misuse('cannot stack an empty list of tensors');
    return Tensor.concat(tensors.map((tensor) => new Tensor(tensor.dtype, tensor.data, [1, ...tensor.shape])));
  }

  /** Number of rows: the first dimension. Throws INVALID_ARG for a rank-0 tensor. */
  get rowCount(): number {
    if (this.shape.length === 0) throw misuse('a tensor of shape [] has no rows');
    return this.shape[0]!;
  }

  /** Row `index` without the first axis; a view for dtypes with typed arrays. */
  row(index: number): Tensor<D> {
    if (!Number.isInteger(index) || index < 0 || index >= this.rowCount) {
      throw misuse(`row ${index} is out of range for a tensor of shape ${formatShape(this.shape)}`);
    }
    const size = elementCount(this.shape.slice(1));
    return new Tensor(this.dtype, viewOf(this.data, index * size, (index + 1) * size), this.shape.slice(1));
  }

  /** All rows, each without the first axis. */
  rows(): Tensor<D>[] {
    return Array.from({ length: this.rowCount }, (_, index) => this.row(index));
  }

  /**
   * Rows `start` up to but not including `end`, as far as there are any; a negative one is 0. The first axis stays. A view for dtypes
   * with typed arrays.
   */
  slice(start: number, end: number = this.rowCount): Tensor<D> {
    if (!Number.isInteger(start)) throw misuse(`slice starts at the number of a row, got ${String(start)}`);
    const last = Math.min(Math.max(end, 0), this.rowCount);
    const first = Math.min(Math.max(start, 0), last);
    const size = elementCount(this.shape.slice(1));
    return new Tensor(this.dtype, viewOf(this.data, first * size, last * size), [last - first, ...this.shape.slice(1)]);
  }

  /** Cuts the first axis into consecutive pieces of the given numbers of rows, which must add up. */
  split(rowCounts: readonly number[]): Tensor<D>[] {
    // Texts have a `split` too, and who takes a tensor for its text calls this one.
    if (!Array.isArray(rowCounts))
      throw misuse(`a tensor splits into a list of row counts, got ${tagOf(rowCounts)}; strings() gives its texts`);
    const total = rowCounts.reduce((sum, rows) => sum + rows, 0);
    if (total !== this.rowCount || rowCounts.some((rows) => !Number.isInteger(rows) || rows < 0)) {
      throw misuse(`cannot split ${this.rowCount} rows into pieces of ${rowCounts.join(' + ')} = ${total} rows`);
    }
    let start = 0;
    return rowCounts.map((rows) => this.slice(start, (start += rows)));
  }

  /** The same data in another shape of as many elements. */
  reshape(shape: readonly number[]): Tensor<D> {
    return new Tensor(this.dtype, this.data, shape);
  }

  /** A new tensor with `fn` applied to each element. Numbers that do not fit an integer dtype are cut, as in typed arrays. */
  map(fn: (value: ElementOf<D>, index: number) => ElementOf<D>): Tensor<D> {
    const data = (this.data as unknown as { map(fn: (value: never, index: number) => unknown): DataOf[D] }).map(
      fn as never,
    );
    return new Tensor(this.dtype, data, this.shape);
  }

  /**
   * The same numbers in another dtype, each multiplied by `scale`; the product is a double. Floats round to the nearest
   * number of the new dtype. Integers must be exact and floats must not overflow, or it throws INVALID_ARG: round them
   * first, with `map`.
   *
   * @example
   * const pixels = image.cast('float32', 1 / 255); // uint8 to floats from 0 to 1
   */
  cast<To extends Dtype>(dtype: To, scale: number = 1): Tensor<To> {
    if (!Object.hasOwn(DTYPES, dtype)) throw unknownDtype(dtype);
    return new Tensor(dtype, castElements(this as Tensor, dtype, scale), this.shape);
  }

  /**
   * Nested plain arrays: numbers, bigints for 64-bit integers, booleans for `bool`, the numbers that float16
   * and bfloat16 bits stand for, strings, or Uint8Arrays for `bytes`. A rank-0 tensor gives the value itself.
   */
  toNested(): Nested {
    if (this.dtype === 'bool')
      return nest(
        Array.from(this.data as Uint8Array, (value) => value !== 0),
        this.shape,
      );
    return nest(numbersOf(this as Tensor) as Parameters<typeof nest>[0], this.shape);
  }

  /** The elements of a `bytes` or `string` tensor as strings, read as UTF-8. Throws INVALID_ARG for other dtypes. */
  strings(): string[] {
    if (this.dtype === 'string') return this.data as string[];
    if (this.dtype !== 'bytes') throw misuse(`a ${this.dtype} tensor has no strings, only bytes and string have`);
    // A byte order mark is a character like any other here, and for the dtype string.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    return (this.data as Uint8Array[]).map((element) => decoder.decode(element));
  }

  /** The values of a floating-point tensor as float32. Throws INVALID_ARG for other dtypes. */
  toFloat32(): Float32Array {
    const { dtype, data } = this as Tensor<Dtype>;
    const { kind } = DTYPES[dtype];
    if (kind === 'half') return numbersOf(this as Tensor) as Float32Array;
    if (kind === 'float') return data instanceof Float32Array ? data : Float32Array.from(data as Float64Array);
    throw misuse(`a ${dtype} tensor does not convert to float32, only floating-point tensors do`);
  }
}
Object.defineProperty(Tensor.prototype, BRAND, { value: true });

function fromForeign(given: unknown): Tensor {
  const { dtype, data, shape } = partsOfForeign(given);
  return new Tensor(dtype, data as DataOf[Dtype], shape as readonly number[]);
}

function unknownDtype(dtype: unknown): TritonError {
  const known = Object.keys(DTYPES);
  return misuse(`unknown dtype ${String(dtype)}${dtypeHint(dtype, known)}, expected one of ${known.join(', ')}`);
}

function unfitData(dtype: Dtype, data: unknown): TritonError {
  if (!Object.hasOwn(DTYPES, dtype)) return unknownDtype(dtype);
  const expected = DTYPES[dtype].array?.name ?? (dtype === 'string' ? 'string[]' : 'Uint8Array[]');
  return misuse(`unexpected data for ${withArticle(dtype)} tensor. Expected ${expected}, got ${tagOf(data)}`);
}

/** Number of elements, or NaN for an invalid dimension. */
function countOf(shape: readonly number[]): number {
  let count = 1;
  for (let axis = 0; axis < shape.length; axis++) {
    const dim = shape[axis]!;
    if (!Number.isSafeInteger(dim) || dim < 0) return NaN;
    count *= dim;
  }
  return count;
}

function unfitShape(shape: unknown, elements: number): TritonError {
  if (!Array.isArray(shape)) {
    const got = shape === null ? 'null' : typeof shape;
    return misuse(`the shape of a tensor must be a list of integers, got ${got}`);
  }
  const expected = countOf(shape);
  if (Number.isNaN(expected)) {
    return misuse(`unexpected shape ${formatShape(shape)} of a tensor: dimensions are integers >= 0`);
  }
  return misuse(
    `unexpected number of elements for a tensor of shape ${formatShape(shape)}. Expected ${expected}, got ${elements}`,
  );
}

function viewOf<D extends Dtype>(data: DataOf[D], start: number, end: number): DataOf[D] {
  if (start === 0 && end === data.length) return data;
  return (Array.isArray(data) ? data.slice(start, end) : (data as Uint8Array).subarray(start, end)) as DataOf[D];
}

function joinData<D extends Dtype>(dtype: D, tensors: readonly Tensor<D>[], elements: number): DataOf[D] {
  if (isBytesDtype(dtype)) return tensors.flatMap((tensor) => tensor.data as unknown[]) as DataOf[D];
  const joined = new (DTYPES[dtype as NumericDtype].array as Float32ArrayConstructor)(elements);
  let offset = 0;
  for (const tensor of tensors) {
    joined.set(tensor.data as Float32Array, offset);
    offset += tensor.data.length;
  }
  return joined as unknown as DataOf[D];
}

function expectTensors(values: unknown, verb: string): asserts values is readonly Tensor[] {
  if (!Array.isArray(values)) throw misuse(`expected a list of tensors to ${verb}, got ${tagOf(values)}`);
  // Unlike a loop over the entries, `findIndex` also visits holes.
  const place = values.findIndex((value) => !Tensor.is(value));
  if (place !== -1) throw misuse(`cannot ${verb} [${place}]: expected a Tensor, got ${tagOf(values[place])}`);
}
