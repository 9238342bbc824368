// A tensor's `data` from its JSON text straight into wire bytes: flat or nested, only the number of elements counts.
// The text is well-formed. Types are checked as Triton does, in its words; integers out of the datatype's range are
// refused where Triton wraps them.

import { TritonError } from '../../errors.js';
import type { Datatype } from '../../tensor/dtype.js';
import { unescapeInto } from '../json/json-string.js';
import { doubleAt, numberEnd, smallIntegerAt, STRING_CLASS } from '../json/json-text.js';
import type { JsonArray } from '../json/json-value.js';

/** Throws INVALID_ARG. For BYTES `count` is not looked at; for FP16 and BF16 there is no JSON form. */
export function readTensorData(data: JsonArray, name: string, datatype: Datatype, count: number): Uint8Array {
  switch (datatype) {
    case 'BOOL':
      return readBooleans(data, count);
    case 'FP32':
    case 'FP64':
      return readDoubles(data, count, datatype);
    case 'INT8':
    case 'INT16':
    case 'INT32':
    case 'UINT8':
    case 'UINT16':
    case 'UINT32':
      return readIntegers(data, count, datatype);
    case 'INT64':
    case 'UINT64':
      return readBigIntegers(data, count, datatype);
    case 'BYTES':
      return readStrings(data);
    case 'FP16':
    case 'BF16':
      throw new TritonError(
        'INVALID_ARG',
        `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
      );
  }
}

/** Thrown for too few and for too many elements, as Triton does. */
function wrongCount(): TritonError {
  return new TritonError('INVALID_ARG', "Unable to parse 'data': Shape does not match true shape of 'data' field");
}

function wrongType(expected: string): TritonError {
  return new TritonError('INVALID_ARG', `Unable to parse 'data': attempt to access JSON ${expected}`);
}

const NOT_BOOLEAN = 'non-boolean as boolean';
const NOT_NUMBER = 'non-number as double';
const NOT_SIGNED = 'non-signed-integer as signed-integer';
const NOT_UNSIGNED = 'non-unsigned-integer as unsigned-integer';

// Room for `count` elements, aligned for any typed array; no more than the text can hold, whatever the shape claims.
function allocate(data: JsonArray, count: number, byteSize: number): Buffer {
  const most = (data.end - data.start) >> 1;
  const length = Math.min(count, most) * byteSize;
  const pooled = Buffer.allocUnsafe(length);
  return pooled.byteOffset % 8 === 0 ? pooled : Buffer.allocUnsafeSlow(length);
}

// The first byte of the next element at or after `pos`, or the end: between elements there are only brackets of
// nested arrays, commas and white space.
function nextElement(bytes: Buffer, pos: number, end: number): number {
  while (pos < end) {
    const byte = bytes[pos]!;
    if (byte > 0x20 && byte !== 0x2c && byte !== 0x5b && byte !== 0x5d) return pos;
    pos++;
  }
  return end;
}

function isNumberStart(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x4e || byte === 0x49;
}

// Powers of ten that are exact in a double.
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** Beyond the relative error of what {@link readDoubles} makes of more than 15 digits. */
const TOLERANCE = 2 ** -48;

function readDoubles(data: JsonArray, count: number, datatype: 'FP32' | 'FP64'): Uint8Array {
  const { bytes, end } = data;
  const single = datatype === 'FP32';
  const values = allocate(data, count, single ? 4 : 8);
  const target = single
    ? new Float32Array(values.buffer, values.byteOffset, values.length >> 2)
    : new Float64Array(values.buffer, values.byteOffset, values.length >> 3);
  let index = 0;
  for (let pos = nextElement(bytes, data.start, end); pos < end; pos = nextElement(bytes, pos, end)) {
    if (index >= count) throw wrongCount();
    const start = pos;
    let byte = bytes[pos]!;
    if (!isNumberStart(byte)) throw wrongType(NOT_NUMBER);
    const negative = byte === 0x2d;
    if (negative) byte = bytes[++pos]!;
    const digits = pos;
    let mantissa = 0;
    let scale = 0;
    let integer = true;
    for (;;) {
      if (byte >= 0x30 && byte <= 0x39) mantissa = mantissa * 10 + (byte - 0x30);
      else if (byte === 0x2e) scale = pos;
      else break;
      byte = bytes[++pos]!;
    }
    const length = pos - digits;
    if (scale > 0) {
      integer = false;
      scale -= pos - 1;
    }
    if ((byte | 0x20) === 0x65) {
      integer = false;
      byte = bytes[++pos]!;
      const negativeExponent = byte === 0x2d;
      if (negativeExponent || byte === 0x2b) byte = bytes[++pos]!;
      let exponent = 0;
      for (; byte >= 0x30 && byte <= 0x39; byte = bytes[++pos]!) exponent = exponent * 10 + (byte - 0x30);
      scale += negativeExponent ? -exponent : exponent;
    }
    let value: number;
    if (length > 0 && length <= 24 && scale >= -22 && scale <= 22) {
      value = scale < 0 ? mantissa / POWERS_OF_TEN[-scale]! : mantissa * POWERS_OF_TEN[scale]!;
      // Up to 15 digits are exact, so that this is the nearest double. With more it may miss that by a little, which
      // is of no matter where the nearest float is the same all around.
      if (length > 15 && !(single && Math.fround(value * (1 - TOLERANCE)) === Math.fround(value * (1 + TOLERANCE)))) {
        value = Number(bytes.toString('latin1', digits, pos));
      }
      // `-0` is the integer 0; `-0.0` is negative zero.
      if (negative && !(integer && value === 0)) value = -value;
    } else {
      pos = numberEnd(bytes, pos);
      value = doubleAt(bytes, start, pos);
    }
    target[index++] = value;
  }
  if (index !== count) throw wrongCount();
  return values;
}

function readBooleans(data: JsonArray, count: number): Uint8Array {
  const { bytes, end } = data;
  const values = allocate(data, count, 1);
  let index = 0;
  for (let pos = nextElement(bytes, data.start, end); pos < end; pos = nextElement(bytes, pos, end)) {
    if (index >= count) throw wrongCount();
    const byte = bytes[pos]!;
    if (byte !== 0x74 && byte !== 0x66) throw wrongType(NOT_BOOLEAN);
    pos += byte === 0x74 ? 4 : 5;
    values[index++] = byte === 0x74 ? 1 : 0;
  }
  if (index !== count) throw wrongCount();
  return values;
}

const RANGES = {
  INT8: { array: Int8Array, least: -128, most: 127 },
  INT16: { array: Int16Array, least: -32768, most: 32767 },
  INT32: { array: Int32Array, least: -2147483648, most: 2147483647 },
  UINT8: { array: Uint8Array, least: 0, most: 255 },
  UINT16: { array: Uint16Array, least: 0, most: 65535 },
  UINT32: { array: Uint32Array, least: 0, most: 4294967295 },
} as const;

function readIntegers(data: JsonArray, count: number, datatype: keyof typeof RANGES): Uint8Array {
  const { bytes, end } = data;
  const { array, least, most } = RANGES[datatype];
  const values = allocate(data, count, array.BYTES_PER_ELEMENT);
  const target = new array(values.buffer as ArrayBuffer, values.byteOffset, values.length / array.BYTES_PER_ELEMENT);
  let index = 0;
  for (let pos = nextElement(bytes, data.start, end); pos < end; pos = nextElement(bytes, pos, end)) {
    if (index >= count) throw wrongCount();
    const start = pos;
    pos = integerEnd(bytes, start, least < 0);
    const value =
      pos - start <= 15 ? smallIntegerAt(bytes, start, pos) : Number(exactIntegerAt(bytes, start, pos, least < 0));
    if (value < least || value > most) {
      throw value < 0 && least === 0
        ? wrongType(NOT_UNSIGNED)
        : outOfRange(bytes.toString('latin1', start, pos), datatype);
    }
    target[index++] = value;
  }
  if (index !== count) throw wrongCount();
  return values;
}

function readBigIntegers(data: JsonArray, count: number, datatype: 'INT64' | 'UINT64'): Uint8Array {
  const { bytes, end } = data;
  const signed = datatype === 'INT64';
  const values = allocate(data, count, 8);
  // As two halves: most integers are small, and a bigint for each would cost more than all the rest.
  const halves = new Int32Array(values.buffer, values.byteOffset, values.length >> 2);
  let index = 0;
  for (let pos = nextElement(bytes, data.start, end); pos < end; pos = nextElement(bytes, pos, end)) {
    if (index >= count) throw wrongCount();
    const start = pos;
    pos = integerEnd(bytes, start, signed);
    if (pos - start <= 15) {
      const value = smallIntegerAt(bytes, start, pos);
      if (value < 0 && !signed) throw wrongType(NOT_UNSIGNED);
      halves[index * 2] = value;
      halves[index * 2 + 1] = Math.floor(value / 4294967296);
    } else {
      values.writeBigUInt64LE(BigInt.asUintN(64, exactIntegerAt(bytes, start, pos, signed)), index * 8);
    }
    index++;
  }
  if (index !== count) throw wrongCount();
  return values;
}

/** The offset after the integer at `start`; anything else there is a wrong type. */
function integerEnd(bytes: Buffer, start: number, signed: boolean): number {
  let pos = bytes[start] === 0x2d ? start + 1 : start;
  const digits = pos;
  let byte = bytes[pos]!;
  while (byte >= 0x30 && byte <= 0x39) byte = bytes[++pos]!;
  if (pos === digits || (byte !== 0x2c && byte !== 0x5d && byte > 0x20))
    throw wrongType(signed ? NOT_SIGNED : NOT_UNSIGNED);
  return pos;
}

/** An integer that may need all 64 bits. Beyond them, to Triton, it is no integer. */
function exactIntegerAt(bytes: Buffer, start: number, stop: number, signed: boolean): bigint {
  const value = BigInt(bytes.toString('latin1', start, stop));
  if (signed && BigInt.asIntN(64, value) !== value) throw wrongType(NOT_SIGNED);
  if (!signed && BigInt.asUintN(64, value) !== value) throw wrongType(NOT_UNSIGNED);
  return value;
}

function outOfRange(value: string, datatype: keyof typeof RANGES): TritonError {
  const { least, most } = RANGES[datatype];
  return new TritonError(
    'INVALID_ARG',
    `Unable to parse 'data': ${datatype} values must be in range [ ${least}, ${most} ], got: ${value}`,
  );
}

function readStrings(data: JsonArray): Uint8Array {
  const { bytes, end } = data;
  // An element's length takes four bytes where the text has two quotes and a comma, so this is always enough.
  const scratch = Buffer.allocUnsafe((end - data.start) * 2);
  let offset = 0;
  for (let pos = nextElement(bytes, data.start, end); pos < end; pos = nextElement(bytes, pos, end)) {
    if (bytes[pos] !== 0x22) {
      throw new TritonError(
        'INVALID_ARG',
        'Unable to parse JSON bytes array: attempt to access JSON non-string as string',
      );
    }
    const start = ++pos;
    let escaped = false;
    for (let kind = STRING_CLASS[bytes[pos]!]!; kind !== 1; kind = STRING_CLASS[bytes[++pos]!]!) {
      if (kind !== 2) continue;
      escaped = true;
      pos++;
    }
    let stop = offset + 4;
    if (escaped) stop = unescapeInto(scratch, stop, bytes, start, pos);
    else stop += bytes.copy(scratch, stop, start, pos);
    scratch.writeUInt32LE(stop - offset - 4, offset);
    offset = stop;
    pos++;
  }
  const values = Buffer.allocUnsafe(offset);
  scratch.copy(values, 0, 0, offset);
  return values;
}
