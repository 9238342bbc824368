// Reads protobuf's text format, such as config.pbtxt, by the table of a message type. It reads the whole grammar except
// extensions and Any, which no message here has. It is as strict as Triton's own reader. A repeated field, a number out of range
// and an unknown name are errors, which name the field and the place in the text.

import { lowerCase } from '../../ascii.js';
import { nearest } from '../../checks/nearest.js';
import type { Enumeration, Field, Kind, MapField, MessageType, Scalar } from '../protobuf/message-type.js';
import { emptyMessage, emptyValue, setEntry, type Values } from '../protobuf/values.js';
import { clip, type Position, TextFormatError, type Token, Tokens } from './tokens.js';

/** Most levels of nested messages. */
const MAX_DEPTH = 100;
/** No 64-bit integer is longer in any notation, without leading zeros. */
const LONGEST_INTEGER = 64;

const CLOSING: Readonly<Record<string, string>> = { '{': '}', '<': '>' };

/** Throws {@link TextFormatError}. */
export function readTextFormat<T extends object>(type: MessageType<T>, text: string): T {
  const message = emptyMessage(type);
  new TextFormatReader(text).read(type, message as Values);
  return message;
}

/** A message, and the path to it: `input[1].reshape`. */
interface Place {
  readonly type: MessageType<object>;
  readonly values: Values;
  readonly path: string;
  readonly depth: number;
  /** The given fields and choices. Each may occur once. */
  readonly given: Map<string, string>;
}

class TextFormatReader {
  readonly #tokens: Tokens;

  constructor(text: string) {
    this.#tokens = new Tokens(text);
  }

  read(type: MessageType<object>, values: Values): void {
    this.#fields({ type, values, path: '', depth: 1, given: new Map() }, undefined);
  }

  /** Reads fields up to the end, or up to the closing bracket, which it takes. */
  #fields(place: Place, closing: string | undefined): void {
    for (;;) {
      const token = this.#tokens.take();
      if (token.kind === 'end') {
        if (closing === undefined) return;
        throw new TextFormatError(`expected ${closing} or a field${of(place.path)}, got the end of the text`, token);
      }
      if (closing !== undefined && token.kind === 'symbol' && token.text === closing) return;
      this.#field(this.#named(place, token), place, token);
      const { current } = this.#tokens;
      if (current.kind === 'symbol' && (current.text === ',' || current.text === ';')) this.#tokens.take();
    }
  }

  /** The field that a token names. */
  #named({ type, path }: Place, token: Token): Field {
    if (token.kind === 'symbol' && token.text === '[') {
      let name = '';
      for (let { current } = this.#tokens; current.kind !== 'end'; current = this.#tokens.current) {
        if (current.kind === 'symbol' && current.text === ']') break;
        name += shownIn(this.#tokens.take());
      }
      throw new TextFormatError(`extensions and Any are not supported, got [${name.slice(0, 80)}]${of(path)}`, token);
    }
    if (token.kind !== 'identifier')
      throw new TextFormatError(`expected the name of a field${of(path)}, got ${shown(token)}`, token);
    const field = type.fields.find(({ name }) => name === token.text);
    if (field !== undefined) return field;
    const names = type.fields.map(({ name }) => name);
    const hint = nearest(token.text, names);
    throw new TextFormatError(
      `Message type "${type.typeName}" has no field named ${clip(token.text)}${of(path)}${
        hint === undefined ? '' : `; did you mean ${JSON.stringify(hint)}?`
      }`,
      token,
    );
  }

  #field(field: Field, place: Place, at: Position): void {
    const path = place.path === '' ? field.name : `${place.path}.${field.name}`;
    const isMessage = holdsMessages(field);
    const colon = this.#takeSymbol(':');
    if (!colon && !isMessage)
      throw new TextFormatError(`expected ":" after ${path}, got ${shown(this.#tokens.current)}`, this.#tokens.current);
    const { current } = this.#tokens;
    if (field.form !== 'list' && field.form !== 'map') {
      if (current.kind === 'symbol' && current.text === '[')
        throw new TextFormatError(`${path} has one value, got a list`, current);
      refuseSecond(field, place, at);
      const value = this.#value(field.kind, path, place.depth);
      const { localName, oneof } = field;
      place.values[oneof?.localName ?? localName] = oneof === undefined ? value : { case: localName, value };
      return;
    }
    if (!this.#takeSymbol('[')) return this.#entry(field, place, path);
    if (this.#takeSymbol(']')) return;
    do this.#entry(field, place, path);
    while (this.#takeSymbol(','));
    if (!this.#takeSymbol(']')) {
      const next = this.#tokens.current;
      throw new TextFormatError(`expected "," or "]" in the list of ${path}, got ${shown(next)}`, next);
    }
  }

  /** One element of a list, or one entry of a map. */
  #entry(field: Extract<Field, { readonly form: 'list' | 'map' }>, { values, depth }: Place, path: string): void {
    if (field.form === 'list') {
      const list = values[field.localName] as unknown[];
      list.push(this.#value(field.kind, `${path}[${list.length}]`, depth));
    } else {
      const [key, value] = this.#mapEntry(field, path, depth);
      setEntry(values[field.localName] as Values, String(key), value);
    }
  }

  #mapEntry(field: MapField, path: string, depth: number): [unknown, unknown] {
    const closing = this.#open(path, depth);
    let key: unknown;
    let value: unknown;
    for (;;) {
      const token = this.#tokens.take();
      if (token.kind === 'symbol' && token.text === closing) break;
      const name = token.kind === 'identifier' ? token.text : undefined;
      if (name !== 'key' && name !== 'value')
        throw new TextFormatError(`expected ${closing}, "key" or "value" of ${path}, got ${shown(token)}`, token);
      if ((name === 'key' ? key : value) !== undefined)
        throw new TextFormatError(`an entry of ${path} has its ${name} twice`, token);
      const isMessage = name === 'value' && 'message' in field.kind;
      if (!this.#takeSymbol(':') && !isMessage) {
        const next = this.#tokens.current;
        throw new TextFormatError(`expected ":" after the ${name} of ${path}, got ${shown(next)}`, next);
      }
      if (name === 'key') key = this.#scalar(field.mapKey, `the key of ${path}`);
      else value = this.#value(field.kind, `${path}.value`, depth + 1);
      if (!this.#takeSymbol(',')) this.#takeSymbol(';');
    }
    return [key ?? emptyValue({ scalar: field.mapKey }), value ?? emptyValue(field.kind)];
  }

  /** The value of a field, an element, or an entry's value. */
  #value(kind: Kind, path: string, depth: number): unknown {
    if ('message' in kind) {
      const type = kind.message;
      const values = emptyMessage(type) as Values;
      this.#fields({ type, values, path, depth: depth + 1, given: new Map() }, this.#open(path, depth));
      return values;
    }
    return 'enum' in kind ? this.#enumerated(kind.enum, path) : this.#scalar(kind.scalar, path);
  }

  /** Takes the opening bracket of a message, and returns the closing one. */
  #open(path: string, depth: number): string {
    const token = this.#tokens.take();
    const closing = token.kind === 'symbol' ? CLOSING[token.text] : undefined;
    if (closing === undefined) throw new TextFormatError(`expected "{" or "<" for ${path}, got ${shown(token)}`, token);
    if (depth < MAX_DEPTH) return closing;
    throw new TextFormatError(`messages lie in each other more than ${MAX_DEPTH} deep`, token);
  }

  #enumerated(type: Enumeration, path: string): number {
    const { current } = this.#tokens;
    if (current.kind === 'identifier') {
      this.#tokens.take();
      const known = type.numbers.get(current.text);
      if (known !== undefined) return known;
      throw new TextFormatError(
        `Unknown enumeration value of ${clip(current.text)} for field ${path}; expected one of ${[...type.numbers.keys()].join(', ')}`,
        current,
      );
    }
    const number = Number(this.#integer(path, [-(2n ** 31n), 2n ** 31n - 1n]));
    if (type.names.has(number)) return number;
    throw new TextFormatError(`Unknown enumeration value of "${number}" for field ${path}`, current);
  }

  #scalar(scalar: Scalar, path: string): unknown {
    switch (scalar) {
      case 'string':
        return this.#text(path);
      case 'bytes':
        return this.#bytes(path);
      case 'bool':
        return this.#boolean(path);
      case 'double':
        return this.#float(path);
      case 'float':
        return Math.fround(this.#float(path));
      case 'int64':
        return this.#integer(path, [-(2n ** 63n), 2n ** 63n - 1n]);
      case 'uint64':
        return this.#integer(path, [0n, 2n ** 64n - 1n]);
      case 'uint32':
        return Number(this.#integer(path, [0n, 2n ** 32n - 1n]));
      case 'int32':
        return Number(this.#integer(path, [-(2n ** 31n), 2n ** 31n - 1n]));
    }
  }

  #bytes(path: string): Uint8Array {
    const first = this.#tokens.take();
    if (first.kind !== 'string') throw new TextFormatError(`expected a string for ${path}, got ${shown(first)}`, first);
    const parts = [first.bytes];
    for (let { current } = this.#tokens; current.kind === 'string'; current = this.#tokens.current) {
      parts.push(current.bytes);
      this.#tokens.take();
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  #text(path: string): string {
    const at = this.#tokens.current;
    const bytes = this.#bytes(path);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new TextFormatError(`the bytes of ${path} are not UTF-8`, at);
    }
  }

  #boolean(path: string): boolean {
    const token = this.#tokens.take();
    const text =
      token.kind === 'integer' && token.text.length < LONGEST_INTEGER
        ? String(Number(valueOf(token.text)))
        : shownIn(token);
    if (token.kind === 'integer' || token.kind === 'identifier') {
      if (['true', 'True', 't', '1'].includes(text)) return true;
      if (['false', 'False', 'f', '0'].includes(text)) return false;
    }
    throw new TextFormatError(`expected true or false for ${path}, got ${shown(token)}`, token);
  }

  #float(path: string): number {
    const isNegative = this.#takeSymbol('-');
    const token = this.#tokens.take();
    const magnitude = magnitudeOf(token);
    if (magnitude === undefined) throw new TextFormatError(`expected a number for ${path}, got ${shown(token)}`, token);
    return isNegative ? -magnitude : magnitude;
  }

  #integer(path: string, [least, most]: readonly [bigint, bigint]): bigint {
    const { current } = this.#tokens;
    const isNegative = this.#takeSymbol('-');
    const token = this.#tokens.take();
    if (token.kind !== 'integer')
      throw new TextFormatError(
        `expected an integer for ${path}, got ${isNegative ? '-' : ''}${shown(token)}`,
        current,
      );
    const magnitude = token.text.length > LONGEST_INTEGER ? undefined : valueOf(token.text);
    const value = magnitude === undefined ? undefined : isNegative ? -magnitude : magnitude;
    if (value !== undefined && value >= least && value <= most) return value;
    const got = `${isNegative ? '-' : ''}${token.text.slice(0, LONGEST_INTEGER)}`;
    throw new TextFormatError(`Integer out of range for ${path}: expected ${least} to ${most}, got ${got}`, current);
  }

  #takeSymbol(text: string): boolean {
    const { current } = this.#tokens;
    if (current.kind !== 'symbol' || current.text !== text) return false;
    this.#tokens.take();
    return true;
  }
}

function refuseSecond(field: Field, { given, path }: Place, at: Position): void {
  const key = field.oneof === undefined ? field.name : `oneof ${field.oneof.name}`;
  const before = given.get(key);
  given.set(key, field.name);
  if (before === undefined) return;
  const what =
    before === field.name
      ? `Non-repeated field "${field.name}"${of(path)} is specified multiple times`
      : `Field "${field.name}"${of(path)} is specified along with field "${before}", another member of oneof "${field.oneof?.name}"`;
  throw new TextFormatError(what, at);
}

function holdsMessages({ form, kind }: Field): boolean {
  return form === 'map' || 'message' in kind;
}

/** The value of an integer without a sign. */
function valueOf(text: string): bigint {
  return BigInt(/^0[0-7]+$/.test(text) ? `0o${text}` : text);
}

function magnitudeOf(token: Token): number | undefined {
  if (token.kind === 'float') return Number(token.text);
  // Triton's reader accepts no other notation here.
  if (token.kind === 'integer') return /^0./.test(token.text) ? undefined : Number(token.text);
  if (token.kind !== 'identifier') return undefined;
  const word = lowerCase(token.text);
  if (word === 'nan') return Number.NaN;
  return word === 'inf' || word === 'infinity' ? Number.POSITIVE_INFINITY : undefined;
}

function of(path: string): string {
  return path === '' ? '' : ` of ${path}`;
}

function shown(token: Token): string {
  if (token.kind === 'end') return 'the end of the text';
  if (token.kind === 'string') return `the string ${clip(Buffer.from(token.bytes.subarray(0, 50)).toString())}`;
  return clip(token.text);
}

function shownIn(token: Token): string {
  return token.kind === 'end' || token.kind === 'string' ? '' : token.text;
}
