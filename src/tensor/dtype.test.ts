import { describe, expect, it } from 'vitest';

import {
  DATATYPE_BYTE_SIZE,
  DTYPES,
  dtypeOf,
  isBytesDtype,
  isDataOf,
  isDatatype,
  parseDtype,
  type Datatype,
  type Dtype,
} from './dtype.js';

/** numpy's name, Triton's name, bytes of an element, the typed array, and the constructor that spells the dtype. */
const TABLE = [
  ['bool', 'BOOL', 1, Uint8Array, undefined],
  ['uint8', 'UINT8', 1, Uint8Array, Uint8Array],
  ['uint16', 'UINT16', 2, Uint16Array, Uint16Array],
  ['uint32', 'UINT32', 4, Uint32Array, Uint32Array],
  ['uint64', 'UINT64', 8, BigUint64Array, BigUint64Array],
  ['int8', 'INT8', 1, Int8Array, Int8Array],
  ['int16', 'INT16', 2, Int16Array, Int16Array],
  ['int32', 'INT32', 4, Int32Array, Int32Array],
  ['int64', 'INT64', 8, BigInt64Array, BigInt64Array],
  ['float16', 'FP16', 2, Uint16Array, undefined],
  ['bfloat16', 'BF16', 2, Uint16Array, undefined],
  ['float32', 'FP32', 4, Float32Array, Float32Array],
  ['float64', 'FP64', 8, Float64Array, Float64Array],
  ['bytes', 'BYTES', 0, undefined, undefined],
] as const;

const ARRAYS = [
  Uint8Array,
  Uint16Array,
  Uint32Array,
  BigUint64Array,
  Int8Array,
  Int16Array,
  Int32Array,
  BigInt64Array,
  Float32Array,
  Float64Array,
  Uint8ClampedArray,
];

describe('parseDtype', () => {
  it.each(TABLE)('knows %s by its three spellings', (dtype, datatype, _, __, constructor) => {
    expect(parseDtype(dtype)).toBe(dtype);
    expect(parseDtype(datatype)).toBe(dtype);
    expect(parseDtype(constructor ?? dtype)).toBe(dtype);
  });

  it('knows string, which only numpy-like names can ask for', () => {
    expect(parseDtype('string')).toBe('string');
    expect(parseDtype('BYTES')).toBe('bytes');
  });

  it.each([
    ['a name of nothing', 'float33', '"float33"'],
    ['a type that there is not', 'complex64', '"complex64"'],
    ['an empty name', '', '""'],
    ['a member of every object', 'constructor', '"constructor"'],
    ['a class', Map, 'Map'],
    ['a nameless function', () => 0, 'a function'],
    ['a number', 32, '32'],
    ['null', null, 'null'],
    ['undefined', undefined, 'undefined'],
  ])('refuses %s with what would do', (_, like, got) => {
    expect(() => parseDtype(like)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message:
          `unknown dtype ${got}, expected numpy's name (bool, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, ` +
          "float32, float64, bytes, string, bfloat16), a typed-array constructor such as Float32Array, or Triton's name such as 'FP32'",
      }),
    );
  });

  it.each([
    // numpy's names, as PyTriton's pages have them
    ['object', "'bytes' or 'string'"],
    ['object_', "'bytes' or 'string'"],
    ['bytes_', "'bytes'"],
    ['str_', "'string'"],
    ['np.bytes_', "'bytes'"],
    ['numpy.float32', "'float32'"],
    ['float', "'float32' or 'float64'"],
    ['float_', "'float64'"],
    ['half', "'float16'"],
    ['bool_', "'bool'"],
    ['int', "'int64' or 'int32'"],
    ['<f4', "'float32'"],
    ['|S', "'bytes'"],
    // Triton's, spelt differently
    ['fp32', "'float32'"],
    ['TYPE_FP32', "'float32'"],
    ['TYPE_STRING', "'string'"],
    ['Int64', "'int64'"],
    // JavaScript's
    [String, "'string'"],
    [Boolean, "'bool'"],
    [Number, "'float32' or 'float64'"],
    [BigInt, "'int64'"],
    [Uint8ClampedArray, "'uint8'"],
  ])('refuses %o with the name to use, %s', (like, hint) => {
    const got = typeof like === 'string' ? `"${like}"` : like.name;
    expect(() => parseDtype(like)).toThrow(`unknown dtype ${got}: use ${hint}, expected numpy's name (bool, `);
  });
});

describe('the table of dtypes', () => {
  it('has all of them', () => {
    expect(Object.keys(DTYPES).sort()).toEqual([...TABLE.map(([dtype]) => dtype), 'string'].sort());
    expect(Object.keys(DATATYPE_BYTE_SIZE).sort()).toEqual(TABLE.map(([, datatype]) => datatype).sort());
  });

  it.each(TABLE)('%s is %s on the wire with elements of %i bytes', (dtype, datatype, byteSize, array) => {
    expect(DTYPES[dtype]).toMatchObject({ datatype, byteSize, array });
    expect(DATATYPE_BYTE_SIZE[datatype]).toBe(byteSize);
    expect(array?.BYTES_PER_ELEMENT ?? 0).toBe(byteSize);
    expect(dtypeOf(datatype)).toBe(dtype);
    expect(isDatatype(datatype)).toBe(true);
    expect(isDatatype(dtype)).toBe(false);
  });

  it('writes strings as BYTES', () => {
    expect(DTYPES.string.datatype).toBe('BYTES');
  });

  it('does not take members of every object for datatypes', () => {
    expect(isDatatype('toString')).toBe(false);
    expect(isDatatype('')).toBe(false);
  });

  it('has two dtypes whose elements are not numbers', () => {
    expect((Object.keys(DTYPES) as Dtype[]).filter(isBytesDtype)).toEqual(['bytes', 'string']);
  });
});

describe('isDataOf', () => {
  it.each(Object.keys(DTYPES) as Dtype[])('takes exactly the arrays of %s', (dtype) => {
    const expected = DTYPES[dtype].array;
    for (const array of ARRAYS)
      expect([array.name, isDataOf(dtype, new array(1))]).toEqual([array.name, array === expected]);
    expect(isDataOf(dtype, [])).toBe(expected === undefined);
    for (const other of [
      undefined,
      null,
      1,
      'a',
      { length: 1 },
      new ArrayBuffer(8),
      new DataView(new ArrayBuffer(8)),
    ]) {
      expect(isDataOf(dtype, other)).toBe(false);
    }
  });

  it('takes a Buffer for bytes of uint8, which it is', () => {
    expect(isDataOf('uint8', Buffer.alloc(1))).toBe(true);
  });

  it('is false for what is no dtype', () => {
    expect(isDataOf('float33' as Dtype, new Float32Array(1))).toBe(false);
    expect(isDataOf('FP32' as Datatype as Dtype, new Float32Array(1))).toBe(false);
  });
});
