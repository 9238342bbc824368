// Reads and writes the wire form of tensor data: little-endian elements back to back. Each BYTES element is a 32-bit
// little-endian length and that many bytes (Triton's binary tensor data extension and raw_input_contents). Typed arrays
// are views of the wire bytes where the alignment allows it, so the host must be little-endian.

import { TritonError } from '../errors.js';
import { DTYPES, type DataOf, type Dtype, isBytesDtype, type NumericDtype } from './dtype.js';

if (new Uint8Array(Uint16Array.of(1).buffer)[0] !== 1)
  throw new TritonError('UNSUPPORTED', 'TSTriton runs on little-endian machines only');

/**
 * Data of a dtype from its wire bytes. A view of `bytes` when aligned, else a copy; the caller has checked
 * the sizes (`bytes` must be whole elements).
 */
export function decodeRaw<D extends Dtype>(dtype: D, bytes: Uint8Array): DataOf[D] {
  if (dtype === 'bytes' || dtype === 'string') return decodeElements(dtype, bytes) as DataOf[D];
  const { array, byteSize } = DTYPES[dtype as NumericDtype];
  const length = bytes.byteLength / byteSize;
  if (bytes.byteOffset % byteSize === 0) {
    return new (array as Float32ArrayConstructor)(bytes.buffer, bytes.byteOffset, length) as unknown as DataOf[D];
  }
  const copy = new Uint8Array(bytes.byteLength);
  copy.set(bytes);
  return new (array as Float32ArrayConstructor)(copy.buffer, 0, length) as unknown as DataOf[D];
}

/** Number of bytes that {@link writeRaw} writes. */
export function rawByteLength(dtype: Dtype, data: DataOf[Dtype]): number {
  return isBytesDtype(dtype) ? elementsByteLength(data as Elements, 0, data.length) : (data as Uint8Array).byteLength;
}

/** Writes the wire bytes of `data` into `target` at `offset`; returns the offset after them. */
export function writeRaw(dtype: Dtype, data: DataOf[Dtype], target: Buffer, offset: number): number {
  if (isBytesDtype(dtype)) {
    const writer = new ElementWriter(data as Elements, target, offset);
    while (!writer.advance(data.length));
    return writer.offset;
  }
  const numbers = data as Uint8Array;
  // Without bytes, the memory may be another thread's by now, which cannot be looked at.
  if (numbers.byteLength > 0)
    target.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), offset);
  return offset + numbers.byteLength;
}

/** Data of a `bytes` or `string` tensor. */
export type Elements = readonly Uint8Array[] | readonly string[];

/** The bytes on the wire of the elements from `start` up to but not including `end`. */
export function elementsByteLength(elements: Elements, start: number, end: number): number {
  let total = 4 * (end - start);
  for (let i = start; i < end; i++) {
    const element = elements[i]!;
    total += typeof element === 'string' ? Buffer.byteLength(element, 'utf8') : element.byteLength;
  }
  return total;
}

/** Bytes read or written at a time: more of a text takes milliseconds. A longer element has several pieces. */
const PIECE = 256 * 1024;

/** The bytes of one element, without its length. Yields after each piece of a long text. */
export function* textByteLength(text: string): Generator<number, void, undefined> {
  for (let start = 0; start < text.length;) {
    const end = endOfPiece(text, start);
    yield Buffer.byteLength(text.slice(start, end), 'utf8');
    start = end;
  }
}

/** Whether an element is written in pieces. */
export function isLongElement(element: string | Uint8Array): boolean {
  return element.length > PIECE;
}

/** The end of a piece of a text, which is never between the two halves of a character. */
function endOfPiece(text: string, start: number): number {
  const end = Math.min(start + PIECE, text.length);
  const isHalf = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHalf ? end - 1 : end;
}

/** Writes elements in their wire form, some at a time, because a million elements or a long one take long. */
export class ElementWriter {
  readonly #elements: Elements;
  readonly #target: Buffer;
  #offset: number;
  #count = 0;
  /** The long element under way. */
  #pieces: Generator<undefined, void, undefined> | undefined;

  /** The first element goes to `offset` of the target, which has room for all. */
  constructor(elements: Elements, target: Buffer, offset: number) {
    this.#elements = elements;
    this.#target = target;
    this.#offset = offset;
  }

  /** The offset behind the written bytes. */
  get offset(): number {
    return this.#offset;
  }

  /** The number of written elements. */
  get count(): number {
    return this.#count;
  }

  /** Writes at most `count` more elements, and about one piece. Returns true at the end of the data. */
  advance(count: number): boolean {
    const elements = this.#elements;
    const target = this.#target;
    const end = Math.min(this.#count + count, elements.length);
    let offset = this.#offset;
    const most = offset + PIECE;
    let i = this.#count;
    for (; i < end && offset < most; i++) {
      const element = elements[i]!;
      if (element.length > PIECE) {
        this.#offset = offset;
        this.#count = i;
        return this.#advanceLong(element);
      }
      if (typeof element === 'string') {
        const length = target.write(element, offset + 4, 'utf8');
        target.writeUInt32LE(length, offset);
        offset += 4 + length;
      } else {
        target.writeUInt32LE(element.byteLength, offset);
        target.set(element, offset + 4);
        offset += 4 + element.byteLength;
      }
    }
    this.#count = i;
    this.#offset = offset;
    return i === elements.length;
  }

  #advanceLong(element: string | Uint8Array): boolean {
    this.#pieces ??= this.#writeLong(element);
    if (this.#pieces.next().done !== true) return false;
    this.#pieces = undefined;
    return ++this.#count === this.#elements.length;
  }

  *#writeLong(element: string | Uint8Array): Generator<undefined, void, undefined> {
    const target = this.#target;
    const at = this.#offset;
    this.#offset += 4;
    const { length } = element;
    for (let start = 0; start < length;) {
      if (start > 0) yield;
      let end;
      if (typeof element === 'string') {
        end = endOfPiece(element, start);
        this.#offset += target.write(element.slice(start, end), this.#offset, 'utf8');
      } else {
        end = Math.min(start + PIECE, length);
        const piece = element.subarray(start, end);
        target.set(piece, this.#offset);
        this.#offset += piece.byteLength;
      }
      start = end;
    }
    target.writeUInt32LE(this.#offset - at - 4, at);
  }
}

/** The wire bytes of `data` in a buffer of their own. */
export function encodeRaw(dtype: Dtype, data: DataOf[Dtype]): Buffer {
  const bytes = Buffer.from(new ArrayBuffer(rawByteLength(dtype, data)));
  writeRaw(dtype, data, bytes, 0);
  return bytes;
}

/** A fault in the wire form of BYTES, in the terms of Triton's messages. */
export type BytesFault =
  | { readonly kind: 'incomplete length'; readonly available: number }
  | { readonly kind: 'incomplete element'; readonly expected: number; readonly available: number };

/** Walks the length prefixes of BYTES data. */
export class BytesScan {
  /** Elements so far. */
  count = 0;
  /** Set where the data ends within an element. */
  fault: BytesFault | undefined;
  readonly #bytes: Uint8Array;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Bytes scanned so far. */
  get offset(): number {
    return this.#offset;
  }

  /** Scans this many more elements. Returns true at the end of the data, or at a fault. */
  advance(elements: number): boolean {
    const bytes = this.#bytes;
    const end = bytes.byteLength;
    let offset = this.#offset;
    let count = 0;
    for (; offset < end && count < elements; count++) {
      if (end - offset < 4) {
        this.fault = { kind: 'incomplete length', available: end - offset };
        break;
      }
      const length = readUint32(bytes, offset);
      offset += 4;
      if (end - offset < length) {
        this.fault = { kind: 'incomplete element', expected: length, available: end - offset };
        break;
      }
      offset += length;
    }
    this.count += count;
    this.#offset = offset;
    return this.fault !== undefined || offset >= end;
  }
}

/**
 * Reads the elements of BYTES data as objects, some at a time, because a million elements or a long text take long. The
 * data is whole elements.
 */
export class ElementReader<D extends 'bytes' | 'string'> {
  readonly #isText: boolean;
  readonly #bytes: Buffer;
  readonly #elements: (Uint8Array | string)[];
  #count = 0;
  #offset = 0;
  /** The beginning of a long text, and where the rest of it begins. */
  #text = '';
  #textOffset = 0;

  /** `count`: how many elements there are, if that is known. */
  constructor(dtype: D, { buffer, byteOffset, byteLength }: Uint8Array, count = 0) {
    this.#isText = dtype === 'string';
    // A list that grows is copied again and again: 10^7 elements in 100 ms.
    this.#elements = new Array<Uint8Array | string>(count < MANY_ELEMENTS ? 0 : Math.min(count, MOST_ELEMENTS_AT_ONCE));
    this.#bytes = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
  }

  /** All elements, once {@link advance} has returned true. */
  get elements(): DataOf[D] {
    this.#elements.length = this.#count;
    return this.#elements as DataOf[D];
  }

  /** The number of elements so far. */
  get count(): number {
    return this.#count;
  }

  /** Bytes read so far, into elements or a part of one. */
  get offset(): number {
    return Math.max(this.#offset, this.#textOffset);
  }

  /** Reads at most `count` more elements, and about one piece of text. Returns true at the end of the data. */
  advance(count: number): boolean {
    const bytes = this.#bytes;
    const isText = this.#isText;
    const elements = this.#elements;
    let offset = this.#offset;
    const most = isText ? Math.min(offset + PIECE, bytes.byteLength) : bytes.byteLength;
    for (let left = count; left > 0 && offset < most; left--) {
      const start = offset + 4;
      const end = start + readUint32(bytes, offset);
      if (isText && end - start > PIECE) {
        this.#offset = offset;
        return this.#advanceText(start, end);
      }
      // Not `bytes.subarray`: a Buffer would hand out Buffers, which print and compare differently.
      elements[this.#count++] = isText
        ? bytes.toString('utf8', start, end)
        : new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
      offset = end;
    }
    this.#offset = offset;
    return offset >= bytes.byteLength;
  }

  #advanceText(start: number, end: number): boolean {
    const from = Math.max(start, this.#textOffset);
    const to = this.#endOfPiece(from, end);
    this.#text += this.#bytes.toString('utf8', from, to);
    this.#textOffset = to;
    if (to < end) return false;
    this.#elements[this.#count++] = this.#text;
    this.#text = '';
    this.#offset = end;
    return end >= this.#bytes.byteLength;
  }

  /** The end of a piece of a text: between two characters, which have at most three bytes after their first. */
  #endOfPiece(start: number, end: number): number {
    const piece = start + PIECE;
    if (piece >= end) return end;
    for (let at = piece; at > piece - 4; at--) if ((this.#bytes[at]! & 0xc0) !== 0x80) return at;
    return piece;
  }
}

function decodeElements<D extends 'bytes' | 'string'>(dtype: D, bytes: Uint8Array): DataOf[D] {
  const reader = new ElementReader(dtype, bytes);
  while (!reader.advance(Infinity));
  return reader.elements;
}

/** For fewer elements a list may grow. */
const MANY_ELEMENTS = 100_000;
/** V8 makes a list with more places as a dictionary, which takes ten times as long to fill. */
const MOST_ELEMENTS_AT_ONCE = 2 ** 25;

function readUint32(bytes: Uint8Array, offset: number): number {
  return (bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16) | (bytes[offset + 3]! << 24)) >>> 0;
}
