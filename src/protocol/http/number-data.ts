// Reads numbers and booleans of a tensor's JSON `data` into wire bytes. The browser build of the client replaces this module by a
// shorter one, `client/browser/browser-number-data.ts`.

import { invalidArg, type TritonError } from '../../errors.js';
import { ownMemory } from '../../model/exchange.js';
import { type Datatype, traitsOf } from '../../tensor/dtype.js';
import { doubleAt, numberEnd, smallIntegerAt } from '../json/json-text.js';
import {
  allocate,
  nextElement,
  NOT_BOOLEAN,
  NOT_NUMBER,
  NOT_SIGNED,
  NOT_UNSIGNED,
  TensorDataReader,
  type DataText,
  type Wanted,
} from './tensor-data-reader.js';
import { elementsBehind, wrongCountOf, wrongElement } from './wrong-data.js';

export { notString } from './wrong-data.js';

/** For all datatypes except BYTES and half floats. */
export function numberReader(text: DataText, wanted: Wanted): TensorDataReader {
  const { datatype } = wanted;
  switch (traitsOf(datatype).kind) {
    case 'bool':
      return new BooleanReader(text, wanted);
    case 'float':
      return new DoubleReader(text, wanted, datatype === 'FP32');
    case 'wide':
      return new BigIntegerReader(text, wanted, datatype === 'INT64');
    default:
      return new IntegerReader(text, wanted, datatype as IntegerDatatype);
  }
}

type IntegerDatatype = {
  [D in Datatype]: ReturnType<typeof traitsOf<D>>['kind'] extends 'integer' ? D : never;
}[Datatype];

/** Reads elements of fixed size. */
abstract class NumberReader extends TensorDataReader {
  readonly values: Buffer;
  protected readonly count: number;
  protected index = 0;

  constructor(text: DataText, wanted: Wanted, byteSize: number) {
    const { count } = wanted;
    super(text, wanted);
    this.count = count;
    // The shape may claim more elements than the text can hold. An element takes two bytes, the last one perhaps one.
    const most = ((text.end - text.start) >> 1) + 1;
    this.values = allocate(Math.min(count, most) * byteSize);
  }

  get memory(): ArrayBuffer | undefined {
    return ownMemory(this.values);
  }

  protected override finish(): void {
    if (this.index !== this.count) throw wrongCountOf(this.wanted, String(this.index));
  }

  /** An element begins at `pos` though there are as many as there should be. */
  protected tooMany(pos: number): TritonError {
    const further = elementsBehind({ bytes: this.bytes, start: pos, end: this.end });
    return wrongCountOf(this.wanted, further === undefined ? `more than ${this.count}` : String(this.count + further));
  }

  /** The element at `pos` has the wrong type. `words`: Triton's. */
  protected wrongType(words: string, pos: number, index: number): TritonError {
    return wrongElement(words, { bytes: this.bytes, start: pos, end: this.end }, this.wanted, index);
  }
}

// Powers of ten that are exact in a double.
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** More than the relative error of {@link DoubleReader} for numbers with more than 15 digits. */
const TOLERANCE = 2 ** -48;

class DoubleReader extends NumberReader {
  readonly #single: boolean;
  readonly #target: Float32Array | Float64Array;

  constructor(text: DataText, wanted: Wanted, single: boolean) {
    super(text, wanted, single ? 4 : 8);
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
    while (pos < stop) {
      let byte = bytes[pos]!;
      const isStart = (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x4e || byte === 0x49;
      if (!isStart && (byte <= 0x20 || byte === 0x2c || byte === 0x5b || byte === 0x5d)) {
        pos++;
        continue;
      }
      if (index >= count) throw this.tooMany(pos);
      const start = pos;
      if (!isStart) throw this.wrongType(NOT_NUMBER, pos, index);
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
        // Up to 15 digits are exact, so this is the nearest double. With more digits it may miss that by a little. The error does
        // not matter if all doubles around it round to the same float.
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
  constructor(text: DataText, wanted: Wanted) {
    super(text, wanted, 1);
  }

  protected readTo(stop: number): void {
    const { bytes, count, values } = this;
    let { index, pos } = this;
    for (pos = nextElement(bytes, pos, stop); pos < stop; pos = nextElement(bytes, pos, stop)) {
      if (index >= count) throw this.tooMany(pos);
      const byte = bytes[pos]!;
      if (byte !== 0x74 && byte !== 0x66) throw this.wrongType(NOT_BOOLEAN, pos, index);
      pos += byte === 0x74 ? 4 : 5;
      values[index++] = byte === 0x74 ? 1 : 0;
    }
    this.index = index;
    this.pos = pos;
  }
}

/** Reads integers, of any size. */
abstract class AnyIntegerReader extends NumberReader {
  /** The offset behind the integer at `start`. Anything but an integer is a wrong type. */
  protected integerEnd(start: number, signed: boolean, index: number): number {
    const { bytes } = this;
    let pos = bytes[start] === 0x2d ? start + 1 : start;
    const digits = pos;
    let byte = bytes[pos]!;
    while (byte >= 0x30 && byte <= 0x39) byte = bytes[++pos]!;
    // A closing brace follows the single value of a member, and never stands in an array.
    if (pos === digits || (byte !== 0x2c && byte !== 0x5d && byte !== 0x7d && byte > 0x20))
      throw this.wrongType(signed ? NOT_SIGNED : NOT_UNSIGNED, start, index);
    return pos;
  }

  /** An integer that may need all 64 bits. Triton does not count longer ones as integers. */
  protected exactInteger(start: number, stop: number, signed: boolean, index: number): bigint {
    const value = BigInt(this.bytes.toString('latin1', start, stop));
    if (value === (signed ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value))) return value;
    throw this.wrongType(signed ? NOT_SIGNED : NOT_UNSIGNED, start, index);
  }
}

class IntegerReader extends AnyIntegerReader {
  readonly #datatype: IntegerDatatype;
  readonly #target: InstanceType<ReturnType<typeof traitsOf<IntegerDatatype>>['array']>;

  constructor(text: DataText, wanted: Wanted, datatype: IntegerDatatype) {
    const { array } = traitsOf(datatype);
    super(text, wanted, array.BYTES_PER_ELEMENT);
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
      if (index >= count) throw this.tooMany(pos);
      const start = pos;
      pos = this.integerEnd(start, least < 0, index);
      const value =
        pos - start <= 15 ? smallIntegerAt(bytes, start, pos) : Number(this.exactInteger(start, pos, least < 0, index));
      if (value < least || value > most) {
        throw value < 0 && least === 0
          ? this.wrongType(NOT_UNSIGNED, start, index)
          : outOfRange(bytes.toString('latin1', start, pos), this.#datatype);
      }
      target[index++] = value;
    }
    this.index = index;
    this.pos = pos;
  }
}

class BigIntegerReader extends AnyIntegerReader {
  readonly #signed: boolean;
  // Kept as two halves: most integers are small, and a bigint for each would cost more than everything else.
  readonly #halves: Int32Array;

  constructor(text: DataText, wanted: Wanted, signed: boolean) {
    super(text, wanted, 8);
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
      if (index >= count) throw this.tooMany(pos);
      const start = pos;
      pos = this.integerEnd(start, signed, index);
      if (pos - start <= 15) {
        const value = smallIntegerAt(bytes, start, pos);
        if (value < 0 && !signed) throw this.wrongType(NOT_UNSIGNED, start, index);
        halves[index * 2] = value;
        halves[index * 2 + 1] = Math.floor(value / 4294967296);
      } else {
        const value = BigInt.asUintN(64, this.exactInteger(start, pos, signed, index));
        this.values.writeBigUInt64LE(value, index * 8);
      }
      index++;
    }
    this.index = index;
    this.pos = pos;
  }
}

function outOfRange(value: string, datatype: IntegerDatatype): TritonError {
  const [least, most] = traitsOf(datatype).range;
  return invalidArg(`Unable to parse 'data': ${datatype} values must be in range [ ${least}, ${most} ], got: ${value}`);
}
