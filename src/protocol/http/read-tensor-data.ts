// A tensor's `data` from its JSON text straight into wire bytes: flat or nested, only the number of elements counts.
// The text is well-formed. Types are checked as Triton does, in its words; integers out of the datatype's range are
// refused where Triton wraps them. A reader goes on in parts, so that long data need not be read in one go.

import { TritonError } from '../../errors.js';
import { ownMemory } from '../../model/own-memory.js';
import { beyondLimit, REQUEST_LIMITS } from '../../model/request-limits.js';
import { traitsOf, type Datatype } from '../../tensor/dtype.js';
import { escapeLength, unescapeInto } from '../json/json-string.js';
import { doubleAt, numberEnd, smallIntegerAt, STRING_CLASS } from '../json/json-text.js';

/** Where the elements lie: an array, or a single value in place of an array of one. */
export interface DataText {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** The wanted elements. */
interface Wanted {
  readonly datatype: Datatype;
  /** Not looked at for BYTES. */
  readonly count: number;
  /** Of the input, for messages. */
  readonly name: string;
}

/** Reads all elements. Throws INVALID_ARG. */
export function readTensorData(text: DataText, wanted: Wanted): Uint8Array {
  const reader = tensorDataReader(text, wanted);
  reader.advance(Infinity);
  return reader.values;
}

/** Throws INVALID_ARG for FP16 and BF16, which have no JSON form. */
export function tensorDataReader(text: DataText, { datatype, count, name }: Wanted): TensorDataReader {
  switch (traitsOf(datatype).kind) {
    case 'bool':
      return new BooleanReader(text, count);
    case 'float':
      return new DoubleReader(text, count, datatype === 'FP32');
    case 'integer':
      return new IntegerReader(text, count, datatype as IntegerDatatype);
    case 'wide':
      return new BigIntegerReader(text, count, datatype === 'INT64');
    case 'bytes':
      return new StringReader(text);
    case 'half':
      throw new TritonError(
        'INVALID_ARG',
        `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
      );
  }
}

type IntegerDatatype = {
  [D in Datatype]: ReturnType<typeof traitsOf<D>>['kind'] extends 'integer' ? D : never;
}[Datatype];

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

/** From so many bytes on a tensor has memory of its own. */
const OWN_MEMORY_BYTES = 64 * 1024;

/** Memory of so many bytes, aligned for any typed array. */
function allocate(length: number): Buffer {
  if (length >= OWN_MEMORY_BYTES) return Buffer.allocUnsafeSlow(length);
  const pooled = Buffer.allocUnsafe(length);
  return pooled.byteOffset % 8 === 0 ? pooled : Buffer.allocUnsafeSlow(length);
}

export abstract class TensorDataReader {
  readonly textLength: number;
  protected readonly bytes: Buffer;
  protected readonly end: number;
  protected pos: number;

  constructor({ bytes, start, end }: DataText) {
    this.bytes = bytes;
    this.pos = start;
    this.end = end;
    this.textLength = end - start;
  }

  /** The elements in wire form, once {@link advance} has returned true. */
  abstract get values(): Uint8Array;

  /** The memory of {@link values} when nothing else is in it. */
  abstract get memory(): ArrayBuffer | undefined;

  /** Reads on for about so many bytes of text. True at the end. Throws INVALID_ARG. */
  advance(bytes: number): boolean {
    this.readTo(Math.min(this.end, this.pos + bytes));
    if (this.pos < this.end) return false;
    this.finish();
    return true;
  }

  /** Reads the elements that begin before `stop`. */
  protected abstract readTo(stop: number): void;

  protected finish(): void {}
}

/** Elements of fixed size. */
abstract class NumberReader extends TensorDataReader {
  readonly values: Buffer;
  protected readonly count: number;
  protected index = 0;

  constructor(text: DataText, count: number, byteSize: number) {
    super(text);
    this.count = count;
    // No more than the text can hold, whatever the shape claims: an element takes two bytes, the last one perhaps one.
    const most = ((text.end - text.start) >> 1) + 1;
    this.values = allocate(Math.min(count, most) * byteSize);
  }

  get memory(): ArrayBuffer | undefined {
    return ownMemory(this.values);
  }

  protected override finish(): void {
    if (this.index !== this.count) throw wrongCount();
  }
}

// The first byte of the next element at or after `pos`, or where there is none before the end: between elements there are
// only brackets of nested arrays, commas and white space.
function nextElement(bytes: Buffer, pos: number, end: number): number {
  while (pos < end) {
    const byte = bytes[pos]!;
    if (byte > 0x20 && byte !== 0x2c && byte !== 0x5b && byte !== 0x5d) return pos;
    pos++;
  }
  return pos;
}

function isNumberStart(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x4e || byte === 0x49;
}

// Powers of ten that are exact in a double.
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** Beyond the relative error of what {@link DoubleReader} makes of more than 15 digits. */
const TOLERANCE = 2 ** -48;

class DoubleReader extends NumberReader {
  readonly #single: boolean;
  readonly #target: Float32Array | Float64Array;

  constructor(text: DataText, count: number, single: boolean) {
    super(text, count, single ? 4 : 8);
    const { buffer, byteOffset, length } = this.values;
    this.#single = single;
    this.#target = single
      ? new Float32Array(buffer, byteOffset, length >> 2)
      : new Float64Array(buffer, byteOffset, length >> 3);
  }

  protected readTo(stop: number): void {
    const { bytes, count } = this;
    const single = this.#single;
    const target = this.#target;
    let { index, pos } = this;
    for (pos = nextElement(bytes, pos, stop); pos < stop; pos = nextElement(bytes, pos, stop)) {
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
    this.index = index;
    this.pos = pos;
  }
}

class BooleanReader extends NumberReader {
  constructor(text: DataText, count: number) {
    super(text, count, 1);
  }

  protected readTo(stop: number): void {
    const { bytes, count, values } = this;
    let { index, pos } = this;
    for (pos = nextElement(bytes, pos, stop); pos < stop; pos = nextElement(bytes, pos, stop)) {
      if (index >= count) throw wrongCount();
      const byte = bytes[pos]!;
      if (byte !== 0x74 && byte !== 0x66) throw wrongType(NOT_BOOLEAN);
      pos += byte === 0x74 ? 4 : 5;
      values[index++] = byte === 0x74 ? 1 : 0;
    }
    this.index = index;
    this.pos = pos;
  }
}

class IntegerReader extends NumberReader {
  readonly #datatype: IntegerDatatype;
  readonly #target: InstanceType<ReturnType<typeof traitsOf<IntegerDatatype>>['array']>;

  constructor(text: DataText, count: number, datatype: IntegerDatatype) {
    const { array } = traitsOf(datatype);
    super(text, count, array.BYTES_PER_ELEMENT);
    const { buffer, byteOffset, length } = this.values;
    this.#datatype = datatype;
    this.#target = new array(buffer as ArrayBuffer, byteOffset, length / array.BYTES_PER_ELEMENT);
  }

  protected readTo(stop: number): void {
    const { bytes, count } = this;
    const target = this.#target;
    const [least, most] = traitsOf(this.#datatype).range;
    let { index, pos } = this;
    for (pos = nextElement(bytes, pos, stop); pos < stop; pos = nextElement(bytes, pos, stop)) {
      if (index >= count) throw wrongCount();
      const start = pos;
      pos = integerEnd(bytes, start, least < 0);
      const value =
        pos - start <= 15 ? smallIntegerAt(bytes, start, pos) : Number(exactIntegerAt(bytes, start, pos, least < 0));
      if (value < least || value > most) {
        throw value < 0 && least === 0
          ? wrongType(NOT_UNSIGNED)
          : outOfRange(bytes.toString('latin1', start, pos), this.#datatype);
      }
      target[index++] = value;
    }
    this.index = index;
    this.pos = pos;
  }
}

class BigIntegerReader extends NumberReader {
  readonly #signed: boolean;
  // As two halves: most integers are small, and a bigint for each would cost more than all the rest.
  readonly #halves: Int32Array;

  constructor(text: DataText, count: number, signed: boolean) {
    super(text, count, 8);
    const { buffer, byteOffset, length } = this.values;
    this.#signed = signed;
    this.#halves = new Int32Array(buffer, byteOffset, length >> 2);
  }

  protected readTo(stop: number): void {
    const { bytes, count } = this;
    const signed = this.#signed;
    const halves = this.#halves;
    let { index, pos } = this;
    for (pos = nextElement(bytes, pos, stop); pos < stop; pos = nextElement(bytes, pos, stop)) {
      if (index >= count) throw wrongCount();
      const start = pos;
      pos = integerEnd(bytes, start, signed);
      if (pos - start <= 15) {
        const value = smallIntegerAt(bytes, start, pos);
        if (value < 0 && !signed) throw wrongType(NOT_UNSIGNED);
        halves[index * 2] = value;
        halves[index * 2 + 1] = Math.floor(value / 4294967296);
      } else {
        const value = BigInt.asUintN(64, exactIntegerAt(bytes, start, pos, signed));
        this.values.writeBigUInt64LE(value, index * 8);
      }
      index++;
    }
    this.index = index;
    this.pos = pos;
  }
}

/** The offset after the integer at `start`; anything else there is a wrong type. */
function integerEnd(bytes: Buffer, start: number, signed: boolean): number {
  let pos = bytes[start] === 0x2d ? start + 1 : start;
  const digits = pos;
  let byte = bytes[pos]!;
  while (byte >= 0x30 && byte <= 0x39) byte = bytes[++pos]!;
  // A closing brace comes behind the single value of a member, and never in an array.
  if (pos === digits || (byte !== 0x2c && byte !== 0x5d && byte !== 0x7d && byte > 0x20))
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

function outOfRange(value: string, datatype: IntegerDatatype): TritonError {
  const [least, most] = traitsOf(datatype).range;
  return new TritonError(
    'INVALID_ARG',
    `Unable to parse 'data': ${datatype} values must be in range [ ${least}, ${most} ], got: ${value}`,
  );
}

/** Up to so many bytes a loop copies faster than a call. */
const COPIED_BY_LOOP = 24;

class StringReader extends TensorDataReader {
  readonly #target: Buffer;
  #offset = 0;
  #count = 0;
  #inString = false;
  /** Where the length of the element goes that is being read. */
  #lengthAt = 0;

  constructor(text: DataText) {
    super(text);
    // An element's length takes four bytes where the text has two quotes and, but for the last one, a comma.
    const length = text.end - text.start;
    this.#target = allocate(length + Math.ceil(length / 3) + 4);
  }

  get values(): Uint8Array {
    const values = this.#target.subarray(0, this.#offset);
    // What is small would keep more memory than it needs, or that of others.
    return values.length >= OWN_MEMORY_BYTES ? values : Buffer.from(values);
  }

  get memory(): ArrayBuffer | undefined {
    return this.#offset >= OWN_MEMORY_BYTES ? (this.#target.buffer as ArrayBuffer) : undefined;
  }

  protected readTo(stop: number): void {
    const { bytes } = this;
    while (this.pos < stop) {
      if (!this.#inString) {
        this.pos = nextElement(bytes, this.pos, stop);
        if (this.pos >= stop) return;
        this.#begin();
      }
      this.#readString(stop);
    }
  }

  #begin(): void {
    if (this.bytes[this.pos] !== 0x22) {
      throw new TritonError(
        'INVALID_ARG',
        'Unable to parse JSON bytes array: attempt to access JSON non-string as string',
      );
    }
    if (++this.#count > REQUEST_LIMITS.bytesElements) {
      throw beyondLimit('elements of datatype BYTES', REQUEST_LIMITS.bytesElements);
    }
    this.pos++;
    this.#inString = true;
    this.#lengthAt = this.#offset;
    this.#offset += 4;
  }

  /** Reads on to the end of the string, or to `stop`. */
  #readString(stop: number): void {
    const { bytes } = this;
    const target = this.#target;
    let { pos } = this;
    let offset = this.#offset;
    while (pos < stop) {
      const start = pos;
      let kind = STRING_CLASS[bytes[pos]!]!;
      while (kind !== 1 && kind !== 2 && ++pos < stop) kind = STRING_CLASS[bytes[pos]!]!;
      if (pos - start > COPIED_BY_LOOP) offset += bytes.copy(target, offset, start, pos);
      else for (let i = start; i < pos; i++) target[offset++] = bytes[i]!;
      if (pos >= stop) break;
      if (kind === 1) {
        target.writeUInt32LE(offset - this.#lengthAt - 4, this.#lengthAt);
        this.#inString = false;
        pos++;
        break;
      }
      const escape = pos + escapeLength(bytes, pos);
      offset = unescapeInto(target, offset, bytes, pos, escape);
      pos = escape;
    }
    this.pos = pos;
    this.#offset = offset;
  }
}
