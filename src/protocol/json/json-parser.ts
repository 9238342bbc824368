// JSON as Triton reads it (rapidjson with kParseNanAndInfFlag): NaN, Infinity and Inf are numbers, integers keep 64
// bits, the first of equal keys wins, a byte order mark is skipped, a NUL after the value ends the text, and errors
// carry rapidjson's texts with the offset. Stricter than Triton where that would pass on garbage: strings must be valid
// UTF-8 without lone surrogates, and numbers must fit a double. Nesting needs no recursion.

import { HAS_UTF8, JsonScanner, PLAIN } from './json-scanner.js';
import { asciiAt, unescapedAt } from './json-string.js';
import { doubleAt, skipSpace, smallIntegerAt } from './json-text.js';
import { JsonArray, JsonDouble, JsonObject, type JsonValue } from './json-value.js';

/** Parses one JSON value from `start` to `end`. Throws INVALID_ARG with rapidjson's text and the offset from `start`. */
export function parseJson(bytes: Buffer, start = 0, end: number = bytes.length): JsonValue {
  return new JsonParser(bytes, start, end).document();
}

/** The elements of an array. */
export function jsonElements(array: JsonArray): readonly JsonValue[] {
  return array.objects ?? new JsonParser(array.bytes, array.start, array.end).elements();
}

class JsonParser extends JsonScanner {
  document(): JsonValue {
    const bytes = this.bytes;
    if (bytes[this.pos] === 0xef && bytes[this.pos + 1] === 0xbb && bytes[this.pos + 2] === 0xbf) this.pos += 3;
    this.skipSpace();
    if (this.pos >= this.end || bytes[this.pos] === 0) throw this.error('The document is empty.', this.pos);
    const value = this.#value();
    this.skipSpace();
    // A NUL ends the text, whatever follows: binary data whose length header is missing gets an error of its own.
    if (this.pos < this.end && bytes[this.pos] !== 0) {
      throw this.error('The document root must not be followed by other values.', this.pos);
    }
    return value;
  }

  elements(): JsonValue[] {
    const elements: JsonValue[] = [];
    this.pos++;
    this.skipSpace();
    if (this.bytes[this.pos] === 0x5d) return elements;
    for (;;) {
      elements.push(this.#value());
      this.skipSpace();
      if (this.bytes[this.pos++] !== 0x2c) return elements;
      this.skipSpace();
    }
  }

  // Objects and arrays of objects are built here, on a stack of those that are still open; other arrays are only checked.
  #value(): JsonValue {
    const bytes = this.bytes;
    const open: (JsonObject | JsonValue[])[] = [];
    const starts: number[] = [];
    let container: JsonObject | JsonValue[] | undefined;
    let containerStart = 0;
    for (;;) {
      let value: JsonValue;
      const start = this.pos;
      const byte = this.at(start);
      if (byte === 0x22) {
        value = this.#string();
      } else if (byte === 0x7b) {
        this.pos++;
        this.skipSpace();
        if (this.at(this.pos) === 0x7d) {
          this.pos++;
          value = new JsonObject();
        } else {
          if (container !== undefined) this.#push(open, container, starts, containerStart);
          containerStart = start;
          container = new JsonObject();
          container.keys.push(this.#key());
          continue;
        }
      } else if (byte === 0x5b) {
        const first = skipSpace(bytes, start + 1, this.end);
        if (this.at(first) === 0x7b) {
          if (container !== undefined) this.#push(open, container, starts, containerStart);
          containerStart = start;
          container = [];
          this.pos = first;
          continue;
        }
        this.checkArray(open.length + 1);
        value = new JsonArray(bytes, start, this.pos);
      } else {
        value = this.#scalar(byte);
      }
      // A value is complete: put it where it belongs, and close what ends with it.
      for (;;) {
        if (container === undefined) return value;
        this.skipSpace();
        const next = this.at(this.pos);
        if (Array.isArray(container)) {
          container.push(value);
          if (next === 0x2c) {
            this.pos++;
            this.skipSpace();
            break;
          }
          if (next !== 0x5d) throw this.error("Missing a comma or ']' after an array element.", this.pos);
          this.pos++;
          value = new JsonArray(bytes, containerStart, this.pos, container);
        } else {
          container.values.push(value);
          if (next === 0x2c) {
            this.pos++;
            this.skipSpace();
            container.keys.push(this.#key());
            break;
          }
          if (next !== 0x7d) throw this.error("Missing a comma or '}' after an object member.", this.pos);
          this.pos++;
          value = container;
        }
        container = open.pop();
        containerStart = starts.pop() ?? 0;
      }
    }
  }

  #push(
    open: (JsonObject | JsonValue[])[],
    container: JsonObject | JsonValue[],
    starts: number[],
    start: number,
  ): void {
    this.checkDepth(open.length + 2);
    open.push(container);
    starts.push(start);
  }

  /** A member's name, its colon and the space after it. */
  #key(): string {
    if (this.at(this.pos) !== 0x22) throw this.error('Missing a name for object member.', this.pos);
    const key = this.#string();
    this.colon();
    return key;
  }

  #string(): string {
    const start = this.pos + 1;
    this.checkString();
    const end = this.pos - 1;
    if (this.stringKind === PLAIN) return asciiAt(this.bytes, start, end);
    if (this.stringKind === HAS_UTF8) return this.bytes.toString('utf8', start, end);
    return unescapedAt(this.bytes, start, end);
  }

  #scalar(byte: number): JsonValue {
    if (byte === 0x74) return (this.checkLiteral('true'), true);
    if (byte === 0x66) return (this.checkLiteral('false'), false);
    if (byte === 0x6e) return (this.checkLiteral('null'), null);
    const start = this.pos;
    const integer = this.checkNumber();
    if (!integer) return new JsonDouble(doubleAt(this.bytes, start, this.pos));
    if (this.pos - start <= 15) return smallIntegerAt(this.bytes, start, this.pos);
    const exact = BigInt(this.bytes.toString('latin1', start, this.pos));
    if (exact > 18446744073709551615n || exact < -9223372036854775808n) return new JsonDouble(Number(exact));
    const number = Number(exact);
    return Number.isSafeInteger(number) ? number : exact;
  }
}
