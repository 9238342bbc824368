// Reads JSON as Triton does (rapidjson with kParseNanAndInfFlag). NaN, Infinity and Inf are numbers, and integers keep 64 bits.
// The first of equal keys wins. A byte order mark is skipped, and a NUL after the value ends the text. Errors have rapidjson's
// texts with the offset. The parser is stricter than Triton where that would pass on garbage: strings must be valid UTF-8 without
// lone surrogates, and numbers must fit a double. A shape says which values are kept; all others are only checked. The parser can
// pause anywhere, and needs no recursion.

import { beyondLimit, REQUEST_LIMITS } from '../../model/request-limits.js';
import { JsonScanner, MAX_JSON_DEPTH, tooDeep } from './json-scanner.js';
import { ANY, type JsonShape, type MembersShape, type ObjectShape } from './json-shape.js';
import { asciiAt } from './json-string.js';
import { doubleAt, smallIntegerAt } from './json-text.js';
import {
  JsonArray,
  JsonDouble,
  JsonObject,
  JsonSkipped,
  JsonText,
  PLAIN,
  stringAt,
  type JsonValue,
} from './json-value.js';

/** Parses one JSON value from `start` to `end`. Throws INVALID_ARG with rapidjson's text and the offset from `start`. */
export function parseJson(bytes: Buffer, start = 0, end: number = bytes.length, shape: JsonShape = ANY): JsonValue {
  const parser = new JsonParser(bytes, { start, end }, shape);
  parser.advance(Infinity);
  return parser.value;
}

export function jsonElements(array: JsonArray): readonly JsonValue[] {
  if (array.elements !== undefined) return array.elements;
  const { bytes, start, end } = array;
  const list = { kind: 'list', element: ANY, limit: Infinity, what: '' } as const;
  return (parseJson(bytes, start, end, list) as JsonArray).elements!;
}

// States: the part of the text that the parser expects next.
const AT_VALUE = 0;
const IN_STRING = 1;
const IN_KEY = 2;
const IN_WALK = 3;
const AT_END = 4;

/** An open container of which something is kept. */
interface Frame {
  readonly object: JsonObject | undefined;
  readonly list: JsonValue[] | undefined;
  readonly shape: JsonShape;
  readonly start: number;
  /** The name of the member whose value follows; undefined when that value is not kept. */
  key: string | undefined;
  /** Names so far, when they are many. */
  names: Set<string> | undefined;
  /** Bytes of the names so far. */
  namesBytes: number;
}

const SKIPPED = new JsonSkipped();

export class JsonParser extends JsonScanner {
  readonly #open: Frame[] = [];
  #frame: Frame | undefined;
  /** The shape of the next value; undefined when that value is not kept. */
  #shape: JsonShape | undefined;
  #state = AT_VALUE;
  #begun = false;
  /** Where the current value begins. */
  #valueStart = 0;
  #value: JsonValue = null;

  constructor(
    bytes: Buffer,
    { start = 0, end = bytes.length }: { readonly start?: number; readonly end?: number },
    shape: JsonShape,
  ) {
    super(bytes, start, end);
    this.#shape = shape;
  }

  /** The value, once {@link advance} has returned true. */
  get value(): JsonValue {
    return this.#value;
  }

  /** Reads about `bytes` bytes. Returns true at the end. Throws INVALID_ARG. */
  advance(bytes: number): boolean {
    if (!this.#begun) {
      if (this.runs !== undefined && !this.runs.advance(bytes)) return false;
      this.#begin();
    }
    this.pauseAt = this.pos + bytes;
    for (;;) {
      switch (this.#state) {
        case AT_VALUE:
          if (this.pos >= this.pauseAt) return false;
          this.#beginValue();
          break;
        case IN_KEY:
          if (!this.scanString()) return false;
          this.#takeKey();
          break;
        case IN_STRING:
          if (!this.scanString()) return false;
          this.#complete(this.#shape === undefined ? SKIPPED : this.#takeString(this.#valueStart + 1, this.#shape));
          break;
        case IN_WALK:
          if (!this.walk()) return false;
          this.#complete(this.#skipped(this.walkedOver));
          break;
        default:
          return true;
      }
    }
  }

  #begin(): void {
    this.#begun = true;
    const { bytes } = this;
    if (bytes[this.pos] === 0xef && bytes[this.pos + 1] === 0xbb && bytes[this.pos + 2] === 0xbf) this.pos += 3;
    this.pos = this.space(this.pos);
    if (this.pos >= this.end || bytes[this.pos] === 0) throw this.error('The document is empty.', this.pos);
  }

  #beginValue(): void {
    const start = this.pos;
    const byte = start < this.end ? this.bytes[start]! : 0;
    this.#valueStart = start;
    if (byte === 0x22) {
      this.pos++;
      this.stringKind = PLAIN;
      this.#state = IN_STRING;
    } else if (byte === 0x7b) {
      const shape = this.#shape;
      if (shape !== undefined && shape.kind !== 'value' && shape.kind !== 'list') this.#openObject(shape);
      else this.#beginSkipping();
    } else if (byte === 0x5b) {
      if (!this.#openList()) this.#beginSkipping();
    } else {
      this.#complete(this.#scalar(byte));
    }
  }

  #openObject(shape: JsonShape): void {
    const object = new JsonObject();
    if (this.token(this.pos + 1) === 0x7d) {
      this.pos++;
      this.#complete(object);
      return;
    }
    this.#push({
      object,
      list: undefined,
      shape,
      start: this.#valueStart,
      key: undefined,
      names: undefined,
      namesBytes: 0,
    });
    this.#beginKey();
  }

  /** Returns false when only the array's place is kept, or nothing of it. */
  #openList(): boolean {
    const shape = this.#shape;
    if (shape === undefined || (shape.kind !== 'list' && shape.kind !== 'any')) return false;
    const first = this.space(this.pos + 1);
    const isEmpty = this.at(first) === 0x5d;
    // Other arrays stay text, and their reader converts them to the type that it expects.
    if (shape.kind === 'any' && (isEmpty || this.at(first) !== 0x7b)) return false;
    if (isEmpty) {
      this.pos = first + 1;
      this.#complete(this.#array([]));
      return true;
    }
    this.#push({
      object: undefined,
      list: [],
      shape,
      start: this.#valueStart,
      key: undefined,
      names: undefined,
      namesBytes: 0,
    });
    this.pos = first;
    this.#state = AT_VALUE;
    this.#shape = shape.kind === 'list' ? shape.element : shape;
    return true;
  }

  #beginSkipping(): void {
    if (this.beginWalk()) this.#complete(this.#skipped(0));
    else this.#state = IN_WALK;
  }

  /** The value that stands for a container whose content was not kept. */
  #skipped(length: number): JsonValue {
    if (this.#shape === undefined || this.bytes[this.#valueStart] !== 0x5b) return SKIPPED;
    return new JsonArray(this.bytes, { start: this.#valueStart, end: this.pos, length });
  }

  #array(elements: readonly JsonValue[], start: number = this.#valueStart): JsonArray {
    return new JsonArray(this.bytes, { start, end: this.pos, length: elements.length }, elements);
  }

  #push(frame: Frame): void {
    if (this.#frame !== undefined) {
      this.#open.push(this.#frame);
      if (this.#open.length >= MAX_JSON_DEPTH) throw tooDeep();
    }
    this.#frame = frame;
  }

  #beginKey(): void {
    this.#valueStart = this.pos;
    this.beginKey();
    this.#state = IN_KEY;
  }

  #takeKey(): void {
    const frame = this.#frame!;
    const start = this.#valueStart + 1;
    const end = this.pos - 1;
    const { shape } = frame;
    if (shape.kind === 'object') this.#choose(frame, shape, start, end);
    else if (shape.kind === 'members') this.#take(frame, shape, start, end);
    else {
      frame.key = stringAt(this.bytes, start, end, this.stringKind);
      this.#shape = shape;
    }
    // Usually a colon follows the name at once, and the value follows the colon.
    const { bytes, pos } = this;
    if (bytes[pos] === 0x3a && pos + 1 < this.end && bytes[pos + 1]! > 0x20) this.pos++;
    else this.colon();
    this.#state = AT_VALUE;
  }

  /** Decides whether a member is kept. */
  #choose(frame: Frame, { members }: ObjectShape, start: number, end: number): void {
    frame.key = undefined;
    this.#shape = undefined;
    // A name spelt with escapes is at most six times as long.
    if (end - start > 6 * LONGEST_MEMBER) return;
    const kind = this.stringKind;
    const key = kind === PLAIN ? asciiAt(this.bytes, start, end) : stringAt(this.bytes, start, end, kind);
    const shape = members.get(key);
    if (shape === undefined || frame.object!.keys.includes(key)) return;
    frame.key = key;
    this.#shape = shape;
  }

  /** Keeps a member of any name. */
  #take(frame: Frame, shape: MembersShape, start: number, end: number): void {
    const { known, repeated, limit, namesBytes, what } = shape;
    if (end - start > REQUEST_LIMITS.nameBytes)
      throw beyondLimit(`bytes in a name of its ${what}`, REQUEST_LIMITS.nameBytes);
    frame.namesBytes += end - start;
    if (frame.namesBytes > namesBytes) throw beyondLimit(`bytes in the names of its ${what}`, namesBytes);
    const key = stringAt(this.bytes, start, end, this.stringKind);
    const { keys } = frame.object!;
    if (repeated === 'first' && hasName(frame, keys, key)) {
      frame.key = undefined;
      this.#shape = undefined;
      return;
    }
    if (keys.length >= limit) throw beyondLimit(what, limit);
    frame.key = key;
    this.#shape = known.get(key) ?? MEMBER;
  }

  #takeString(start: number, { kind }: JsonShape): JsonValue {
    const end = this.pos - 1;
    if (kind !== 'any' && end - start > LONGEST_STRING) return new JsonText(this.bytes, start, end, this.stringKind);
    const asString = this.stringKind;
    return asString === PLAIN ? asciiAt(this.bytes, start, end) : stringAt(this.bytes, start, end, asString);
  }

  #scalar(byte: number): JsonValue {
    if (byte === 0x74) return (this.checkLiteral('true'), true);
    if (byte === 0x66) return (this.checkLiteral('false'), false);
    if (byte === 0x6e) return (this.checkLiteral('null'), null);
    const start = this.pos;
    const integer = this.checkNumber();
    if (this.#shape === undefined) return null;
    if (!integer) return new JsonDouble(doubleAt(this.bytes, start, this.pos));
    if (this.pos - start <= 15) return smallIntegerAt(this.bytes, start, this.pos);
    const exact = BigInt(this.bytes.toString('latin1', start, this.pos));
    if (exact > 18446744073709551615n || exact < -9223372036854775808n) return new JsonDouble(Number(exact));
    const number = Number(exact);
    return Number.isSafeInteger(number) ? number : exact;
  }

  // Puts a complete value where it belongs, and closes the containers that end with it.
  #complete(value: JsonValue): void {
    for (;;) {
      const frame = this.#frame;
      const valueEnd = this.pos;
      let next = valueEnd < this.end ? this.bytes[valueEnd]! : 0;
      if (next <= 0x20) next = this.token(valueEnd);
      if (frame === undefined) return this.#finish(value);
      const { object, list, shape } = frame;
      if (list !== undefined) {
        if (shape.kind === 'list' && list.length >= shape.limit) throw beyondLimit(shape.what, shape.limit);
        list.push(value);
        if (next === 0x2c) {
          this.token(this.pos + 1);
          this.#shape = shape.kind === 'list' ? shape.element : shape;
          this.#state = AT_VALUE;
          return;
        }
        if (next !== 0x5d) throw this.error("Missing a comma or ']' after an array element.", this.pos);
        this.pos++;
        value = this.#array(list, frame.start);
      } else {
        if (frame.key !== undefined) {
          object!.keys.push(frame.key);
          object!.values.push(value);
          if (shape.kind === 'members') object!.places.push(this.#valueStart, valueEnd);
        }
        if (next === 0x2c) {
          this.token(this.pos + 1);
          this.#beginKey();
          return;
        }
        if (next !== 0x7d) throw this.error("Missing a comma or '}' after an object member.", this.pos);
        this.pos++;
        value = object!;
      }
      this.#valueStart = frame.start;
      this.#frame = this.#open.pop();
    }
  }

  #finish(value: JsonValue): void {
    // A NUL ends the text, whatever follows. So binary data without its length header gets an error of its own.
    if (this.pos < this.end && this.bytes[this.pos] !== 0) {
      throw this.error('The document root must not be followed by other values.', this.pos);
    }
    this.#value = value;
    this.#state = AT_END;
  }
}

/** Among so few names one is sought without a set. */
const FEW_NAMES = 8;

/** Whether the name came before in its object. Otherwise it is remembered. */
function hasName(frame: Frame, keys: readonly string[], name: string): boolean {
  if (keys.length < FEW_NAMES) return keys.includes(name);
  const names = (frame.names ??= new Set(keys));
  return names.size === names.add(name).size;
}

/** Longer than any member name in a shape. */
const LONGEST_MEMBER = 64;
/** Longer strings are decoded when somebody asks for them. */
const LONGEST_STRING = 1024;
const MEMBER: JsonShape = { kind: 'value' };
