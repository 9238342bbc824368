// Reads strings of a tensor's JSON `data` into BYTES elements.

import { aloneInMemory } from '../../model/exchange.js';
import { escapeLength, unescapeInto } from '../json/json-string.js';
import { STRING_CLASS } from '../json/json-text.js';
import { notString } from './number-data.js';
import {
  allocate,
  nextElement,
  OWN_MEMORY_BYTES,
  TensorDataReader,
  type DataText,
  type Wanted,
} from './tensor-data-reader.js';

/** Up to this many bytes, a loop copies faster than a call. */
const COPIED_BY_LOOP = 24;

export class StringReader extends TensorDataReader {
  readonly #target: Buffer;
  #offset = 0;
  #inString = false;
  /** The offset for the length of the element that is being read. */
  #lengthAt = 0;

  constructor(text: DataText, wanted: Wanted) {
    super(text, wanted);
    // An element's length takes four bytes. In the text, the element has two quotes and a comma; the last has no comma.
    const length = text.end - text.start;
    this.#target = allocate(length + Math.ceil(length / 3) + 4);
  }

  get values(): Uint8Array {
    const values = this.#target.subarray(0, this.#offset);
    // Small values are copied. A view would keep more memory than it needs, or memory that others use.
    return values.length >= OWN_MEMORY_BYTES ? aloneInMemory(values) : Buffer.from(values);
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
      throw notString(this.bytes, this.pos, this.end, this.wanted);
    }
    this.pos++;
    this.#inString = true;
    this.#lengthAt = this.#offset;
    this.#offset += 4;
  }

  /** Reads up to the end of the string, or to `stop`. */
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
