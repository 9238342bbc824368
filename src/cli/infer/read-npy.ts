// Arrays of numpy's file format, `.npy`.

import { invalidArg } from '../../errors.js';
import type { Dtype } from '../../tensor/dtype.js';
import { decodeRaw } from '../../tensor/raw.js';
import { Tensor } from '../../tensor/tensor.js';

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

/** Throws INVALID_ARG for what is no such file, and for arrays that are no tensors. `file` is how messages call it. */
export function readNpy(bytes: Uint8Array, file: string): Tensor {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = buffer[6];
  if (buffer.toString('latin1', 0, 6) !== MAGIC || version === undefined) throw invalidArg(`${file} is no .npy file`);
  const start = version === 1 ? 10 : 12;
  if (buffer.length < start) throw invalidArg(`${file} is cut short`);
  const end = start + (version === 1 ? buffer.readUInt16LE(8) : buffer.readUInt32LE(8));
  const header = buffer.toString('latin1', start, end);
  const [, order, kind] = /'descr': *'([<>|=])([a-zA-Z]\d+)'/.exec(header) ?? [];
  const [, fortran] = /'fortran_order': *(True|False)/.exec(header) ?? [];
  const [, dims] = /'shape': *\(([\d, ]*)\)/.exec(header) ?? [];
  if (kind === undefined || fortran === undefined || dims === undefined) {
    throw invalidArg(`${file} has an array that is no tensor of numbers: ${header.trim()}`);
  }
  const dtype = DTYPES[kind];
  if (dtype === undefined || order === '>') {
    throw invalidArg(`${file} has elements '${order}${kind}', expected little-endian booleans, integers or floats`);
  }
  const shape = dims.split(',').flatMap((dim) => (dim.trim() === '' ? [] : [Number(dim)]));
  if (fortran === 'True' && shape.length > 1) throw invalidArg(`${file} is in Fortran's order, expected C's`);
  const count = shape.reduce((product, dim) => product * dim, 1);
  const size = count * Number(kind.slice(1));
  // Aligned, in memory of its own.
  const data = Uint8Array.from(buffer.subarray(end));
  if (data.length !== size) throw invalidArg(`${file} has ${data.length} bytes of elements, expected ${size}`);
  return new Tensor(dtype, decodeRaw(dtype, data), shape);
}
