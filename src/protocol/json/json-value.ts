// What the parser makes of a JSON text. Integers and doubles stay apart (`1` and `1.0` differ in Triton's protocol),
// integers are exact, and arrays of anything but objects stay text until someone reads them as what they expect:
// tensor data then goes straight into a typed array.

/** An integer that fits int64 or uint64: a number where that is exact, else a bigint. */
export type JsonInteger = number | bigint;

export type JsonValue = null | boolean | string | JsonInteger | JsonDouble | JsonObject | JsonArray;

/** A number with a fraction or an exponent, NaN, an infinity, or an integer beyond 64 bits. */
export class JsonDouble {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** Members in the order of the text. Of equal keys the first is found. */
export class JsonObject {
  readonly keys: string[] = [];
  readonly values: JsonValue[] = [];

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
  /** The elements, when the first one is an object. */
  readonly objects: readonly JsonValue[] | undefined;

  constructor(bytes: Buffer, start: number, end: number, objects?: readonly JsonValue[]) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.objects = objects;
  }
}
