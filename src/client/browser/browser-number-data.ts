// Reads the numbers and booleans of a tensor's JSON `data` in browsers. Results and errors are those in `protocol/http/number-data.ts`,
// but for what stands there behind Triton's words. The code is smaller, and slower.

import { traitsOf } from '../../tensor/dtype.js';
import { unparsable } from '../../protocol/http/json-members.js';
import { doubleAt, numberEnd } from '../../protocol/json/json-text.js';
import {
  allocate,
  nextElement,
  NOT_BOOLEAN,
  NOT_NUMBER,
  NOT_SIGNED,
  NOT_UNSIGNED,
  TensorDataReader,
  wrongCount,
  wrongType,
  type DataText,
  type Wanted,
} from '../../protocol/http/tensor-data-reader.js';

export const notString = () => wrongType('non-string as string');

export function numberReader(text: DataText, wanted: Wanted): TensorDataReader {
  return new NumberReader(text, wanted);
}

class NumberReader extends TensorDataReader {
  readonly values: Buffer;
  readonly memory = undefined;
  readonly #target: { [index: number]: number | bigint };
  #index = 0;

  constructor(text: DataText, wanted: Wanted) {
    super(text, wanted);
    const { datatype, count } = wanted;
    const array = traitsOf(datatype).array as Uint8ArrayConstructor;
    // An element takes at least two bytes of the text; the last one may take only one.
    this.values = allocate(Math.min(count, (this.textLength >> 1) + 1) * array.BYTES_PER_ELEMENT);
    const { buffer, byteOffset, length } = this.values;
    this.#target = new array(buffer as ArrayBuffer, byteOffset, length / array.BYTES_PER_ELEMENT);
  }

  protected readTo(stop: number): void {
    const { bytes } = this;
    for (let { pos } = this; (this.pos = pos = nextElement(bytes, pos, stop)) < stop;) {
      if (this.#index >= this.wanted.count) throw wrongCount();
      const end = numberEnd(bytes, pos);
      this.#target[this.#index++] = this.#element(pos, end);
      pos = end;
    }
  }

  protected override finish(): void {
    if (this.#index !== this.wanted.count) throw wrongCount();
  }

  #element(start: number, end: number): number | bigint {
    const text = this.bytes.toString('latin1', start, end);
    const { datatype } = this.wanted;
    const { kind, range } = traitsOf(datatype);
    if (kind === 'bool') {
      if (!/^[tf]/.test(text)) throw wrongType(NOT_BOOLEAN);
      return Number(text === 'true');
    }
    if (kind === 'float') {
      if (!/^[-\dNI]/.test(text)) throw wrongType(NOT_NUMBER);
      return doubleAt(this.bytes, start, end);
    }
    const [least, most] = range as readonly [number | bigint, number | bigint];
    const value = /^-?\d+$/.test(text) ? BigInt(text) : undefined;
    const isSigned = least < 0;
    // Triton does not accept integers of more than 64 bits.
    const isInteger =
      value !== undefined && (isSigned ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) === value;
    if (!isInteger) throw wrongType(isSigned ? NOT_SIGNED : NOT_UNSIGNED);
    if (value < least || value > most) {
      throw unparsable('data', `${datatype} values must be in range [ ${least}, ${most} ], got: ${text}`);
    }
    return kind === 'wide' ? value : Number(value);
  }
}
