// Arrays of numpy's file format, `.npy`.

import { invalidArg } from '../errors.js';
import type { Dtype } from './dtype.js';
import { decodeRaw } from './raw.js';
import { Tensor } from './tensor.js';

const MAGIC = '\x93NUMPY';

const DTYPES: Readonly<Record<string, Dtype>> = {
  b1: 'bool',
  u1: 'uint8',
  u2: 'uint16',
  u4: 'uint32',
  u8: 'uint64',
  i1: 'int8',
  i2: 'int16',
  i4: 'int32',
  i8: 'int64',
  f2: 'float16',
  f4: 'float32',
  f8: 'float64',
};

/** Whether a file says that it is one of numpy's. */
export function isNpy(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(6, bytes.byteLength)).toString('latin1') === MAGIC;
}

/**
 * Reads an array in C's order or Fortran's. Throws INVALID_ARG for a file in another format, and for an array that cannot be a
 * tensor. `file` is how messages call it.
 */
export function readNpy(bytes: Uint8Array, file: string): Tensor {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = buffer[6];
  if (!isNpy(buffer) || version === undefined) throw invalidArg(`${file} is no .npy file`);
  const start = version === 1 ? 10 : 12;
  if (buffer.length < start) throw invalidArg(`${file} is cut short`);
  const end = start + (version === 1 ? buffer.readUInt16LE(8) : buffer.readUInt32LE(8));
  const header = buffer.toString('latin1', start, end);
  const [, order, kind] = /'descr': *'([<>|=])([a-zA-Z]\d+)'/.exec(header) ?? [];
  const [, fortran] = /'fortran_order': *(True|False)/.exec(header) ?? [];
  const [, dims] = /'shape': *\(([\d, ]*)\)/.exec(header) ?? [];
  if (kind === undefined || fortran === undefined || dims === undefined) {
    throw invalidArg(`${file} has an array that is no tensor of numbers or texts: ${header.trim()}`);
  }
  const dtype = DTYPES[kind];
  const isText = /^[US]/.test(kind);
  if ((dtype === undefined && !isText) || order === '>') {
    throw invalidArg(
      `${file} has elements '${order}${kind}', expected little-endian booleans, integers, floats or texts`,
    );
  }
  const shape = dims.split(',').flatMap((dim) => (dim.trim() === '' ? [] : [Number(dim)]));
  const count = shape.reduce((product, dim) => product * dim, 1);
  const elementSize = Number(kind.slice(1)) * (kind.startsWith('U') ? 4 : 1);
  const size = count * elementSize;
  const given = buffer.subarray(end);
  if (given.length !== size) throw invalidArg(`${file} has ${given.length} bytes of elements, expected ${size}`);
  // Aligned, in memory of its own.
  const data = fortran === 'True' ? inOrderOfC(given, shape, elementSize) : Uint8Array.from(given);
  if (dtype !== undefined) return new Tensor(dtype, decodeRaw(dtype, data), shape);
  const elements = Array.from({ length: count }, (_, i) => data.subarray(i * elementSize, (i + 1) * elementSize));
  return kind.startsWith('U')
    ? new Tensor('string', elements.map(textOfUtf32), shape)
    : new Tensor('bytes', elements.map(withoutTrailingNuls), shape);
}

/** numpy pads short texts with NULs. */
function textOfUtf32(element: Uint8Array): string {
  const buffer = Buffer.from(element.buffer, element.byteOffset, element.byteLength);
  const points = Array.from({ length: buffer.length / 4 }, (_, i) => buffer.readUInt32LE(4 * i));
  return points
    .map((point) => String.fromCodePoint(point))
    .join('')
    .replace(/\0+$/, '');
}

function withoutTrailingNuls(element: Uint8Array): Uint8Array {
  let end = element.length;
  while (end > 0 && element[end - 1] === 0) end--;
  return element.slice(0, end);
}

/** The elements with the last axis varying fastest. In Fortran's order the first axis does. */
function inOrderOfC(given: Uint8Array, shape: readonly number[], elementSize: number): Uint8Array {
  const data = new Uint8Array(given.length);
  const steps: number[] = [];
  let step = elementSize;
  for (const dim of shape) {
    steps.push(step);
    step *= dim;
  }
  const index = shape.map(() => 0);
  let from = 0;
  for (let to = 0; to < data.length; to += elementSize) {
    for (let byte = 0; byte < elementSize; byte++) data[to + byte] = given[from + byte]!;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += steps[axis]!;
      if (++index[axis]! < shape[axis]!) break;
      from -= steps[axis]! * shape[axis]!;
      index[axis] = 0;
    }
  }
  return data;
}
