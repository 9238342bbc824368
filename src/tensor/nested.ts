// Converts plain (nested) arrays to typed data and back. Floats round to the declared type, and all other values must
// fit the dtype exactly: no number may silently become another.

import { misuse, type TritonError } from '../errors.js';
import { type DataOf, type Dtype, DTYPES, isBytesDtype, type NumericDtype } from './dtype.js';
import { HALVES, isHalf } from './float16.js';
import { BRAND } from './foreign-tensor.js';
import { toOddDouble } from './odd-double.js';
import { formatShape } from './shape.js';
import { tagOf } from './tag-of.js';

/** A value or arrays of values, to any depth. */
export type Nested =
  number | bigint | boolean | string | Uint8Array | readonly Nested[] | ArrayLike<number> | ArrayLike<bigint>;

/** Flat data of a dtype and the shape that the nesting gives. Throws INVALID_ARG when ragged or unfit. */
export function flattenNested<D extends Dtype>(dtype: D, values: Nested): { data: DataOf[D]; shape: number[] } {
  const shape = nestedShape(dtype, values);
  let flat = onlyList(values, shape);
  if (flat === undefined) collect(dtype, values, shape, 0, (flat = []));
  return { data: convertElements(dtype, flat), shape };
}

/**
 * Converts plain elements to the data of a dtype. Numbers and bigints must be exact for integers, booleans or
 * 0 and 1 for bool; floats round, but a finite value must not overflow. Throws INVALID_ARG naming the element.
 */
export function convertElements<D extends Dtype>(dtype: D, elements: ArrayLike<unknown>): DataOf[D] {
  switch (DTYPES[dtype].kind) {
    case 'bytes':
      return (dtype === 'bytes' ? convertBytes(elements) : convertStrings(elements)) as DataOf[D];
    case 'float':
    case 'half':
      return convertFloats(dtype, elements) as DataOf[D];
    case 'bool':
      return Uint8Array.from(elements, (value, index) => {
        if (value === true || value === 1 || value === 1n) return 1;
        if (value === false || value === 0 || value === 0n) return 0;
        throw unfit(dtype, value, index, 'true, false, 0 or 1');
      }) as DataOf[D];
    case 'integer':
    case 'wide':
      return convertIntegers(dtype, elements);
  }
}

// Lists of a million elements are usual, so this calls no function and allocates no memory for each element.

function convertStrings(elements: ArrayLike<unknown>): string[] {
  for (let i = 0; i < elements.length; i++)
    if (typeof elements[i] !== 'string') throw unfit('string', elements[i], i, 'a string');
  return Array.prototype.slice.call(elements) as string[];
}

/** Texts become views of one memory, like the elements of a request. */
function convertBytes(elements: ArrayLike<unknown>): Uint8Array[] {
  let texts = 0;
  for (let i = 0; i < elements.length; i++) {
    const value = elements[i];
    if (typeof value === 'string') texts += Buffer.byteLength(value, 'utf8');
    else if (!(value instanceof Uint8Array)) throw unfit('bytes', value, i, 'a Uint8Array or a string');
  }
  const memory = Buffer.from(new ArrayBuffer(texts));
  const bytes: Uint8Array[] = [];
  let offset = 0;
  for (let i = 0; i < elements.length; i++) {
    const value = elements[i] as Uint8Array | string;
    if (typeof value !== 'string') {
      bytes.push(value);
      continue;
    }
    const length = memory.write(value, offset, 'utf8');
    bytes.push(new Uint8Array(memory.buffer, offset, length));
    offset += length;
  }
  return bytes;
}

function convertIntegers<D extends Dtype>(dtype: D, elements: ArrayLike<unknown>): DataOf[D] {
  const { array, kind, range } = DTYPES[dtype as NumericDtype];
  const [least, most] = range;
  const wide = kind === 'wide';
  const low = Number(least);
  const high = Number(most);
  const data = new (array as Float64ArrayConstructor)(elements.length);
  for (let i = 0; i < elements.length; i++) {
    let value = elements[i];
    if (typeof value === 'boolean') value = Number(value);
    if (typeof value === 'number' && Number.isInteger(value) && (wide || (value >= low && value <= high))) {
      if (!wide) {
        data[i] = value;
        continue;
      }
      value = BigInt(value);
    }
    if (typeof value !== 'bigint' || value < least || value > most) {
      throw unfit(dtype, elements[i], i, `an integer from ${least} to ${most}`);
    }
    data[i] = (wide ? value : Number(value)) as number;
  }
  return data as unknown as DataOf[D];
}

function convertFloats(dtype: Dtype, elements: ArrayLike<unknown>): DataOf[Dtype] {
  const doubles = new Float64Array(elements.length);
  const toDouble = dtype === 'float64' ? Number : toOddDouble;
  for (let i = 0; i < doubles.length; i++) {
    const value = elements[i];
    if (typeof value === 'number') doubles[i] = value;
    else if (typeof value === 'boolean') doubles[i] = Number(value);
    else if (typeof value !== 'bigint') throw unfit(dtype, value, i, 'a number');
    else if (!Number.isFinite((doubles[i] = toDouble(value)))) throw unfit(dtype, value, i, 'a number that is finite');
  }
  if (dtype === 'float64') return doubles;
  const [, limit] = DTYPES[dtype as 'float32'].range;
  for (let i = 0; i < doubles.length; i++) {
    const value = doubles[i]!;
    if (Math.abs(value) >= limit && Number.isFinite(value))
      throw unfit(dtype, value, i, `a number of magnitude below ${limit}`);
  }
  return isHalf(dtype) ? HALVES[dtype].encode(doubles) : new Float32Array(doubles);
}

function unfit(dtype: Dtype, value: unknown, index: number, expected: string): TritonError {
  return misuse(`element ${index} does not fit ${dtype}: expected ${expected}, got ${show(value)}`);
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  // The rows of a tensor are tensors, so that `x.rows().map(…)` gives a list of them.
  if (typeof value === 'object' && value !== null && BRAND in value)
    return 'a Tensor; Tensor.stack joins the tensors of a list';
  if (typeof value === 'function' || (typeof value === 'object' && value !== null)) return tagOf(value);
  return String(value);
}

// A list that holds itself would go on for ever.
const MAX_DEPTH = 100;

function isList(dtype: Dtype, value: unknown): value is ArrayLike<Nested> {
  if (Array.isArray(value)) return true;
  return (
    ArrayBuffer.isView(value) && !(value instanceof DataView) && !(isBytesDtype(dtype) && value instanceof Uint8Array)
  );
}

function nestedShape(dtype: Dtype, values: Nested): number[] {
  const shape: number[] = [];
  for (let level: unknown = values; isList(dtype, level); level = level[0]) {
    if (shape.length === MAX_DEPTH) throw misuse(`nested arrays are nested more than ${MAX_DEPTH} deep`);
    shape.push(level.length);
  }
  return shape;
}

/** The only list of values in the nesting, unchanged; undefined where there are several. */
function onlyList(values: Nested, shape: readonly number[]): readonly unknown[] | undefined {
  let list = values as readonly Nested[];
  for (let axis = 0; axis < shape.length - 1; axis++) {
    if (shape[axis] !== 1) return undefined;
    list = list[0] as readonly Nested[];
  }
  if (!Array.isArray(list)) return undefined;
  for (let i = 0; i < list.length; i++) if (typeof list[i] === 'object') return undefined;
  return list;
}

function collect(dtype: Dtype, values: Nested, shape: readonly number[], depth: number, flat: unknown[]): void {
  if (!isList(dtype, values)) {
    if (depth !== shape.length) throw ragged(shape);
    flat.push(values);
    return;
  }
  if (depth === shape.length || values.length !== shape[depth]) throw ragged(shape);
  const ofValues = depth + 1 === shape.length;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    // Nearly all are values, and a value that is not an object cannot be a list.
    if (ofValues && typeof value !== 'object') flat.push(value);
    else collect(dtype, value, shape, depth + 1, flat);
  }
}

function ragged(shape: readonly number[]): TritonError {
  return misuse(`nested arrays must be rectangular, expected shape ${formatShape(shape)} throughout`);
}

/** Flat elements to nested arrays of the given shape. */
export function nest(
  elements: ArrayLike<number | bigint | boolean | string | Uint8Array>,
  shape: readonly number[],
): Nested {
  let offset = 0;
  const build = (depth: number): Nested =>
    depth === shape.length ? elements[offset++]! : Array.from({ length: shape[depth]! }, () => build(depth + 1));
  return build(0);
}
