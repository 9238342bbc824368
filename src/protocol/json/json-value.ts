// The values that the parser returns. Integers and doubles stay apart, because `1` and `1.0` differ in Triton's protocol.
// Integers are exact. Arrays of anything but objects stay text until somebody reads them as a certain type. So tensor data goes
// straight into a typed array.

import { asciiAt, unescapedAt } from './json-string.js';

/** An integer that fits int64 or uint64: a number if that is exact, else a bigint. */
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

/** The kept members, in the order of the text. Of equal keys the first is found. */
export class JsonObject {
  readonly keys: string[] = [];
  readonly values: JsonValue[] = [];
  /** Pairs of start and end of each value in the text. Filled for objects whose every member is kept by name. */
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
  /** The array's own number of elements. A nested array counts as one. */
  readonly length: number;
  /** The elements, if the shape asked for them. */
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

/** The content of a string beside plain ASCII. */
export type StringKind = typeof PLAIN | typeof HAS_ESCAPES | typeof HAS_UTF8;
export const PLAIN = 0;
export const HAS_ESCAPES = 1;
export const HAS_UTF8 = 2;

/** A long string, decoded only when somebody asks for it. The offsets are inside its quotes. */
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

  /** Length of the JSON text. The string's own UTF-8 is not longer. */
  get byteLength(): number {
    return this.#end - this.#start;
  }

  toString(): string {
    return stringAt(this.#bytes, this.#start, this.#end, this.#kind);
  }
}

/** An object of which nothing was kept. */
export class JsonSkipped {}

/** Decodes the well-formed string from `start` to `end`. */
export function stringAt(bytes: Buffer, start: number, end: number, kind: StringKind): string {
  if (kind === PLAIN) return asciiAt(bytes, start, end);
  if (kind === HAS_UTF8) return bytes.toString('utf8', start, end);
  return unescapedAt(bytes, start, end);
}
