// Plain data as bytes, for the messages of a link: lists, objects, texts, numbers, bigints and true or false. A byte says what a
// value is, and its content follows. All numbers are little-endian:
//
//   0 to 127                that integer
//   UNDEFINED, FALSE, TRUE  nothing more
//   NUMBER                  64-bit float
//   INTEGER                 a bigint as a text: its length as 32 bits, ASCII digits
//   TEXT                    its length as 32 bits, UTF-8
//   LIST                    number of its values as 32 bits, the values
//   OBJECT                  number of its members as 32 bits, each as a text without the first byte and a value
//   BUFFER, BYTES           nothing more: the content is the next one of the message's buffers

import { invalidArg, TritonError } from '../../errors.js';

const UNDEFINED = 0x80;
const FALSE = 0x81;
const TRUE = 0x82;
const NUMBER = 0x83;
const INTEGER = 0x84;
const TEXT = 0x85;
const LIST = 0x86;
const OBJECT = 0x87;
const BUFFER = 0x88;
const BYTES = 0x89;

const SMALLEST_MEMORY = 4096;
/** Memory up to this size serves the next message too. */
const KEPT_MEMORY = 65_536;
const MOST_BYTES = 2 ** 32 - 1;
/** Lists and objects within each other. Our own messages need about ten. */
const DEEPEST = 64;
/** Texts up to this length are copied by a loop, which is faster than a call into native code. */
const SHORT_TEXT = 24;

/** What one message may have. Its parts become objects, so that a small message could hold its reader up for seconds. */
export interface ValueLimits {
  /** Bytes of values, without the buffers, which are limited by the size of the message alone. */
  readonly bytes: number;
  /** Lists and objects. */
  readonly objects: number;
  readonly values: number;
  readonly buffers: number;
}

/** What a message has too much of, for its error. */
export function tooMany(what: keyof ValueLimits, count: number, limits: ValueLimits): string | undefined {
  if (count <= limits[what]) return undefined;
  return `${count} ${what === 'bytes' ? 'bytes of values' : what}, expected at most ${limits[what]}`;
}

/** Memory for the next message. */
let spare: Buffer | undefined;

export class ValueWriter {
  readonly buffers: Uint8Array[] = [];
  #memory: Buffer;
  #at = 0;
  #depth = 0;
  objects = 0;
  values = 0;

  constructor() {
    this.#memory = spare ?? Buffer.allocUnsafeSlow(SMALLEST_MEMORY);
    spare = undefined;
  }

  get byteLength(): number {
    return this.#at;
  }

  /** Copies the values' bytes, and ends the use of this writer. Returns the place behind them. */
  copyTo(target: Buffer, at: number): number {
    this.#memory.copy(target, at, 0, this.#at);
    if (this.#memory.length <= KEPT_MEMORY) spare = this.#memory;
    return at + this.#at;
  }

  /** Throws INVALID_ARG for functions, symbols, and values nested too deep. */
  write(value: unknown): void {
    this.values++;
    switch (typeof value) {
      case 'number':
        if (value >= 0 && value < 128 && Number.isInteger(value) && !Object.is(value, -0)) return this.#byte(value);
        this.#byte(NUMBER);
        this.#need(8);
        this.#at = this.#memory.writeDoubleLE(value, this.#at);
        return;
      case 'string':
        this.#byte(TEXT);
        return this.#text(value);
      case 'boolean':
        return this.#byte(value ? TRUE : FALSE);
      case 'bigint':
        this.#byte(INTEGER);
        return this.#text(String(value));
      case 'undefined':
        return this.#byte(UNDEFINED);
      case 'object':
        return value === null ? this.#byte(UNDEFINED) : this.#object(value);
      default:
        throw invalidArg(`a ${typeof value} cannot be sent to another process`);
    }
  }

  #object(value: object): void {
    if (value instanceof ArrayBuffer) {
      this.buffers.push(new Uint8Array(value));
      return this.#byte(BUFFER);
    }
    if (value instanceof Uint8Array) {
      this.buffers.push(value);
      return this.#byte(BYTES);
    }
    this.objects++;
    if (++this.#depth > DEEPEST) throw invalidArg(`a value of more than ${DEEPEST} levels cannot be sent`);
    if (Array.isArray(value)) {
      this.#byte(LIST);
      this.#count(value.length);
      for (let i = 0; i < value.length; i++) this.write(value[i]);
    } else {
      this.#byte(OBJECT);
      const entries = Object.entries(value);
      this.#count(entries.reduce((count, [, member]) => count + (member === undefined ? 0 : 1), 0));
      for (const [name, member] of entries) {
        if (member === undefined) continue;
        this.#text(name);
        this.write(member);
      }
    }
    this.#depth--;
  }

  #byte(byte: number): void {
    this.#need(1);
    this.#memory[this.#at++] = byte;
  }

  #count(count: number): void {
    this.#need(4);
    this.#at = this.#memory.writeUInt32LE(count, this.#at);
  }

  #text(text: string): void {
    // A character takes three bytes at most.
    const most = 3 * text.length;
    this.#need(4 + most);
    const memory = this.#memory;
    const at = this.#at + 4;
    let length = 0;
    if (text.length <= SHORT_TEXT) {
      for (; length < text.length; length++) {
        const code = text.charCodeAt(length);
        if (code > 0x7f) break;
        memory[at + length] = code;
      }
    }
    if (length < text.length) length = memory.write(text, at, 'utf8');
    memory.writeUInt32LE(length, this.#at);
    this.#at = at + length;
  }

  #need(bytes: number): void {
    const end = this.#at + bytes;
    if (end <= this.#memory.length) return;
    if (end > MOST_BYTES)
      throw new TritonError('TOO_LARGE', `more than ${MOST_BYTES} bytes are too many for a message`);
    const larger = Buffer.allocUnsafeSlow(Math.min(MOST_BYTES, 2 ** Math.ceil(Math.log2(end))));
    this.#memory.copy(larger, 0, 0, this.#at);
    this.#memory = larger;
  }
}

export class ValueReader {
  readonly #bytes: Buffer;
  readonly #buffers: readonly ArrayBuffer[];
  readonly #limits: ValueLimits | undefined;
  #at = 0;
  #nextBuffer = 0;
  #depth = 0;
  #objects = 0;
  #values = 0;

  /** Reads values from these bytes. The values keep the buffers, and no part of the bytes. */
  constructor(bytes: Buffer, buffers: readonly ArrayBuffer[], limits: ValueLimits | undefined) {
    this.#bytes = bytes;
    this.#buffers = buffers;
    this.#limits = limits;
  }

  /** Reads the only value. Throws INVALID_ARG for bytes that a {@link ValueWriter} does not write. */
  readAll(): unknown {
    const value = this.#value();
    if (this.#at !== this.#bytes.length) throw malformed('bytes follow its value');
    if (this.#nextBuffer !== this.#buffers.length) throw malformed('it has buffers that no value needs');
    return value;
  }

  #value(): unknown {
    const limits = this.#limits;
    if (limits !== undefined && ++this.#values > limits.values) throw malformed(hasMore('values', limits));
    const kind = this.#bytes[this.#skip(1)]!;
    if (kind < 128) return kind;
    switch (kind) {
      case UNDEFINED:
        return undefined;
      case FALSE:
        return false;
      case TRUE:
        return true;
      case NUMBER:
        return this.#bytes.readDoubleLE(this.#skip(8));
      case INTEGER: {
        const text = this.#text();
        if (!/^-?[0-9]{1,20}$/.test(text)) throw malformed('one of its integers has no digits, or too many');
        return BigInt(text);
      }
      case TEXT:
        return this.#text();
      case LIST:
        return this.#list();
      case OBJECT:
        return this.#object();
      case BUFFER:
        return this.#buffer();
      case BYTES:
        return new Uint8Array(this.#buffer());
      default:
        throw malformed(`it has a value of kind ${kind}`);
    }
  }

  #list(): unknown[] {
    const count = this.#enter();
    const list: unknown[] = [];
    for (let i = 0; i < count; i++) list.push(this.#value());
    this.#depth--;
    return list;
  }

  #object(): Record<string, unknown> {
    const count = this.#enter();
    const object: Record<string, unknown> = {};
    for (let i = 0; i < count; i++) define(object, this.#text(), this.#value());
    this.#depth--;
    return object;
  }

  /** Begins a list or an object. Returns the number of its parts. */
  #enter(): number {
    const limits = this.#limits;
    if (limits !== undefined && ++this.#objects > limits.objects) throw malformed(hasMore('objects', limits));
    if (++this.#depth > DEEPEST) throw malformed(`it has more than ${DEEPEST} levels`);
    return this.#bytes.readUInt32LE(this.#skip(4));
  }

  #text(): string {
    const length = this.#bytes.readUInt32LE(this.#skip(4));
    const start = this.#skip(length);
    const bytes = this.#bytes;
    if (length > SHORT_TEXT) return bytes.toString('utf8', start, start + length);
    let text = '';
    for (let i = start; i < start + length; i++) {
      const code = bytes[i]!;
      if (code > 0x7f) return bytes.toString('utf8', start, start + length);
      text += String.fromCharCode(code);
    }
    return text;
  }

  #buffer(): ArrayBuffer {
    const buffer = this.#buffers[this.#nextBuffer++];
    if (buffer === undefined) throw malformed('it lacks a buffer');
    return buffer;
  }

  /** Returns where the next bytes begin. */
  #skip(count: number): number {
    const start = this.#at;
    this.#at = start + count;
    if (this.#at > this.#bytes.length) throw malformed('it ends inside its values');
    return start;
  }
}

function hasMore(what: 'objects' | 'values', limits: ValueLimits): string {
  return `it has more than ${limits[what]} ${what}`;
}

export function malformed(detail: string): TritonError {
  return invalidArg(`a message of the link is malformed: ${detail}`);
}

/** Assigning to `__proto__` would change the object's prototype. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[name] = value;
  }
}
