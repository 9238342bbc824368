// What the parser makes of a JSON text. Integers and doubles stay apart (`1` and `1.0` differ in Triton's protocol),
// integers are exact, and arrays of anything but objects stay text until someone reads them as what they expect:
// tensor data then goes straight into a typed array.

import { asciiAt, unescapedAt } from './json-string.js';

/** An integer that fits int64 or uint64: a number where that is exact, else a bigint. */
export type JsonInteger = number | bigint;

export type JsonValue =
  null | boolean | string | JsonInteger | JsonDouble | JsonObject | JsonArray | JsonText | JsonSkipped;

/** A number with a fraction or an exponent, NaN, an infinity, or an integer beyond 64 bits. */
export class JsonDouble {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** Members in the order of the text, those that were asked for. Of equal keys the first is found. */
export class JsonObject {
  readonly keys: string[] = [];
  readonly values: JsonValue[] = [];
  /** Where each value lies in the text, in pairs of start and end; of objects whose every member is kept by name. */
  readonly places: number[] = [];

  get(key: string): JsonValue | undefined {
    const index = this.keys.indexOf(key);
    return index < 0 ? undefined : this.values[index];
  }

  has(key: string): boolean {
    return this.keys.includes(key);
  }
}

/** An array whose text was found to be well-formed. `start` is the offset of its `[`, `end` the one after its `]`. */
export class JsonArray {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** How many elements the array itself has; nested arrays count as one each. */
  readonly length: number;
  /** The elements, where they were asked for. */
  readonly elements: readonly JsonValue[] | undefined;

  constructor(
    bytes: Buffer,
    { start, end, length }: { readonly start: number; readonly end: number; readonly length: number },
    elements?: readonly JsonValue[],
  ) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.length = length;
    this.elements = elements;
  }
}

/** What a string has in it beside plain ASCII. */
export type StringKind = typeof PLAIN | typeof HAS_ESCAPES | typeof HAS_UTF8;
export const PLAIN = 0;
export const HAS_ESCAPES = 1;
export const HAS_UTF8 = 2;

/** A string that is too long to be made of the text before somebody wants it. The offsets are those inside its quotes. */
export class JsonText {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  readonly #kind: StringKind;

  constructor(bytes: Buffer, start: number, end: number, kind: StringKind) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#kind = kind;
  }

  /** Of the text; the string's own UTF-8 is no longer. */
  get byteLength(): number {
    return this.#end - this.#start;
  }

  toString(): string {
    return stringAt(this.#bytes, this.#start, this.#end, this.#kind);
  }
}

/** An object of which nobody asked for anything. */
export class JsonSkipped {}

/** The string whose text is well-formed and lies between `start` and `end`. */
export function stringAt(bytes: Buffer, start: number, end: number, kind: StringKind): string {
  if (kind === PLAIN) return asciiAt(bytes, start, end);
  if (kind === HAS_UTF8) return bytes.toString('utf8', start, end);
  return unescapedAt(bytes, start, end);
}
