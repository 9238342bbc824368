// Converts messages from and to protobuf's JSON (https://protobuf.dev/programming-guides/json), by the tables of their types.
// Runs in browsers too.

import { type Choice, type Enumeration, type Field, type Kind, type MessageType, type Scalar } from './message-type.js';
import { emptyMessage, setEntry, type Values } from './values.js';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export interface ReadJsonOptions {
  /** Whether members that the type does not have are ignored. Default: they are an error. */
  readonly ignoreUnknown?: boolean;
}

/** Accepts member names in proto's spelling and in camelCase. Throws an Error that names the member and its value. */
export function messageFromJson<T extends object>(
  type: MessageType<T>,
  json: unknown,
  options: ReadJsonOptions = {},
): T {
  const values = emptyMessage(type);
  if (!isObject(json)) throw new Error(`cannot decode message ${type.typeName} from JSON: ${shown(json)}`);
  for (const [key, value] of Object.entries(json)) {
    const field = type.fields.find(({ name, localName }) => key === name || key === localName);
    if (field !== undefined) setField(type, values as Values, field, { json: value, options });
    else if (options.ignoreUnknown !== true)
      throw new Error(`cannot decode message ${type.typeName} from JSON: key ${JSON.stringify(key)} is unknown`);
  }
  return values;
}

interface Given {
  readonly json: unknown;
  readonly options: ReadJsonOptions;
}

function setField(type: MessageType<object>, values: Values, field: Field, { json, options }: Given): void {
  const { kind, localName, oneof } = field;
  if (json === null || json === undefined) return;
  const where = `${type.typeName}.${field.name}`;
  const read = (each: unknown) => readValue(kind, each, where, options);
  if (field.form === 'list') {
    if (!Array.isArray(json)) throw mismatch(where, 'an array', json);
    values[localName] = json.map(read);
  } else if (field.form === 'map') {
    if (!isObject(json)) throw mismatch(where, 'an object', json);
    const entries = values[localName] as Values;
    for (const [key, each] of Object.entries(json)) {
      setEntry(entries, String(readScalar(field.mapKey, key, where)), read(each));
    }
  } else if (oneof === undefined) {
    values[localName] = read(json);
  } else {
    const before = (values[oneof.localName] as Choice).case;
    if (before !== undefined) throw new Error(`cannot decode field ${where} from JSON: got ${before} too`);
    values[oneof.localName] = { case: localName, value: read(json) } satisfies Choice;
  }
}

function readValue(kind: Kind, json: unknown, where: string, options: ReadJsonOptions): unknown {
  if ('message' in kind) return messageFromJson(kind.message, json, options);
  return 'enum' in kind ? readEnum(kind.enum, json) : readScalar(kind.scalar, json, where);
}

function readEnum(type: Enumeration, json: unknown): number {
  const number = typeof json === 'string' ? type.numbers.get(json) : json;
  if (Number.isInteger(number)) return number as number;
  throw new Error(`cannot decode enum ${type.typeName} from JSON: ${shown(json)}`);
}

function readScalar(scalar: Scalar, json: unknown, where: string): unknown {
  switch (scalar) {
    case 'string':
    case 'bool': {
      const expected = scalar === 'bool' ? 'boolean' : scalar;
      if (typeof json === expected) return json;
      throw mismatch(where, expected, json);
    }
    case 'bytes':
      return readBytes(json, where);
    case 'float':
    case 'double': {
      const number = readNumber(json, where, scalar);
      return scalar === 'float' ? Math.fround(number) : number;
    }
    default: {
      const integer = integerIn(json);
      if (integer === undefined || !fits(scalar, integer)) throw mismatch(where, `number (${scalar})`, json);
      return scalar === 'int32' || scalar === 'uint32' ? Number(integer) : integer;
    }
  }
}

function fits(scalar: Scalar, integer: bigint): boolean {
  const bits = scalar.endsWith('64') ? 64 : 32;
  return (scalar.startsWith('u') ? BigInt.asUintN(bits, integer) : BigInt.asIntN(bits, integer)) === integer;
}

/** Integers may be numbers, or decimal texts, which keep 64 bits. */
function integerIn(json: unknown): bigint | undefined {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : undefined;
  if (typeof json === 'bigint') return json;
  return typeof json === 'string' && /^-?\d{1,64}$/.test(json) ? BigInt(json) : undefined;
}

function readNumber(json: unknown, where: string, scalar: Scalar): number {
  if (typeof json === 'number') return json;
  if (typeof json === 'string' && /^(NaN|-?Infinity|-?\d+(\.\d+)?([eE][+-]?\d+)?)$/.test(json)) return Number(json);
  throw mismatch(where, `number (${scalar})`, json);
}

function readBytes(json: unknown, where: string): Uint8Array {
  if (typeof json !== 'string' || !/^[\w+/-]*={0,2}$/.test(json)) throw mismatch(where, 'base64', json);
  const base64 = json.replaceAll('-', '+').replaceAll('_', '/');
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Contains every member without presence, by the names of proto/. Integers of 64 bits are texts. */
export function messageToJson<T extends object>(type: MessageType<T>, message: T): JsonObject {
  const values = message as Values;
  const entries: [string, JsonValue][] = [];
  for (const member of type.members) {
    const value = values[member.localName];
    if (!('form' in member)) {
      const chosen = value as Choice;
      const field = member.fields.find(({ localName }) => localName === chosen.case);
      if (field !== undefined) entries.push([field.name, valueToJson(field.kind, chosen.value)]);
    } else if (value !== undefined) {
      entries.push([member.name, fieldToJson(member, value)]);
    }
  }
  return Object.fromEntries(entries);
}

function fieldToJson({ form, kind }: Field, value: unknown): JsonValue {
  if (form === 'list') return (value as readonly unknown[]).map((each) => valueToJson(kind, each));
  if (form !== 'map') return valueToJson(kind, value);
  return Object.fromEntries(Object.entries(value as Values).map(([key, each]) => [key, valueToJson(kind, each)]));
}

function valueToJson(kind: Kind, value: unknown): JsonValue {
  if ('message' in kind) return messageToJson(kind.message, value as object);
  if ('enum' in kind) return kind.enum.names.get(value as number) ?? (value as number);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  return value instanceof Uint8Array ? btoa(String.fromCharCode(...value)) : (value as boolean | string);
}

function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function mismatch(where: string, expected: string, got: unknown): Error {
  return new Error(`cannot decode field ${where} from JSON: expected ${expected}, got ${shown(got)}`);
}

/** A wrong value as the error shows it. Long values are cut. */
function shown(json: unknown): string {
  return (typeof json === 'bigint' ? String(json) : String(JSON.stringify(json))).slice(0, LONGEST_SHOWN);
}

const LONGEST_SHOWN = 100;
