// Elements of tensors between what people type, what the wire carries and what people read. Integers of 64 bits stay exact.

import { HALVES } from '../src/tensor/float16.js';
import type { DeclaredTensorJson } from '../src/frontend/page/page-json.js';

export type Spec = Pick<DeclaredTensorJson, 'name' | 'datatype' | 'shape'>;

/** The elements of a tensor: numbers and truth values as JSON spells them or as numbers, BYTES as texts or bytes. */
export interface Elements {
  /** Without the batch axis. */
  readonly shape: readonly number[];
  readonly values: ArrayLike<string | number | Uint8Array>;
}

type Nested = string | readonly Nested[];

/** Bytes of an element by the protocol's datatype; those of BYTES have a length of their own. */
const SIZES: Readonly<Record<string, number>> = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  BF16: 2,
  FP32: 4,
  FP64: 8,
};

/** A number, or a word that stands for one, outside of a JSON text. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[^\s,[\]"]+/g;

export function count(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

export function isFloat(datatype: string): boolean {
  return datatype.startsWith('FP') || datatype === 'BF16';
}

export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

/** Reads what people type for numbers, truth values or lists of texts: JSON, or values between blanks and commas. Throws with what was expected. */
export function readElements(typed: string, spec: Spec): Elements {
  const isNested = typed.trim().startsWith('[');
  const nested: Nested = isNested ? parseNested(typed) : (typed.match(TOKEN) ?? []);
  const values: string[] = [];
  const shape = collect(nested, values, 0);
  const whole = isNested && fits(shape, spec.shape) ? shape : reshaped(values.length, spec.shape);
  if (spec.datatype === 'BYTES') return { shape: whole, values: values.map(textOf) };
  return { shape: whole, values: values.map((value) => checked(value, spec.datatype)) };
}

/** Every value becomes a text, so that none is rounded. */
function parseNested(typed: string): Nested {
  const quoted = typed.replace(TOKEN, (token) => JSON.stringify(token));
  try {
    return JSON.parse(quoted) as Nested;
  } catch {
    throw new Error('the brackets and commas of the list do not match');
  }
}

/** The shape of nested lists, whose values it adds to `values`. */
function collect(nested: Nested, values: string[], depth: number): number[] {
  if (typeof nested === 'string') {
    values.push(nested);
    return [];
  }
  let inner: number[] | undefined;
  for (const part of nested) {
    const shape = collect(part, values, depth + 1);
    if (inner !== undefined && inner.join() !== shape.join())
      throw new Error('lists side by side must have one length');
    inner = shape;
  }
  return [nested.length, ...(inner ?? [])];
}

function fits(shape: readonly number[], declared: readonly number[]): boolean {
  return shape.length === declared.length && declared.every((size, axis) => size === -1 || size === shape[axis]);
}

/** The declared shape for so many values, where it leaves one size open at most. */
function reshaped(values: number, declared: readonly number[]): number[] {
  const open = declared.filter((size) => size === -1).length;
  const known = count(declared.filter((size) => size !== -1));
  if (open > 1) throw new Error(`the shape ${shapeText(declared)} wants nested lists, like [[1, 2], [3, 4]]`);
  const left = open === 1 ? values / known : 1;
  if (open === 1 ? !Number.isInteger(left) : values !== known) {
    const wanted = open === 1 ? `a multiple of ${known}` : String(known);
    throw new Error(`the shape ${shapeText(declared)} has ${wanted} value${wanted === '1' ? '' : 's'}, got ${values}`);
  }
  return declared.map((size) => (size === -1 ? left : size));
}

function textOf(token: string): string {
  return token.startsWith('"') ? (JSON.parse(token) as string) : token;
}

const TRUTH: Readonly<Record<string, string>> = { true: 'true', 1: 'true', false: 'false', 0: 'false' };

/** A value as JSON spells it. Throws for one that the datatype does not have. */
function checked(token: string, datatype: string): string {
  const text = token.startsWith('"') ? (JSON.parse(token) as string) : token;
  if (datatype === 'BOOL') {
    const truth = TRUTH[text.toLowerCase()];
    if (truth === undefined) throw new Error(`'${text}' is neither true nor false`);
    return truth;
  }
  if (isFloat(datatype)) {
    const number = /^[+-]?inf(inity)?$/i.test(text) ? (text.startsWith('-') ? -Infinity : Infinity) : Number(text);
    if (Number.isNaN(number) && text.toLowerCase() !== 'nan') throw new Error(`'${text}' is no number`);
    return String(number);
  }
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`'${text}' is no integer`);
  const bits = BigInt(SIZES[datatype]! * 8);
  const isSigned = datatype.startsWith('INT');
  const least = isSigned ? -(2n ** (bits - 1n)) : 0n;
  const most = isSigned ? 2n ** (bits - 1n) - 1n : 2n ** bits - 1n;
  const value = BigInt(text.replace('+', ''));
  if (value < least || value > most)
    throw new Error(`${text} is beyond ${datatype}, which goes from ${least} to ${most}`);
  return String(value);
}

/** The protocol's raw form, little-endian. */
export function encodeElements({ values }: Elements, datatype: string): Uint8Array<ArrayBuffer> {
  if (datatype === 'BYTES') return encodeBytes(values);
  const size = SIZES[datatype]!;
  const view = new DataView(new ArrayBuffer(size * values.length));
  for (let i = 0; i < values.length; i++) put(view, i * size, values[i] as string | number, datatype);
  return new Uint8Array(view.buffer);
}

function put(view: DataView, at: number, value: string | number, datatype: string): void {
  switch (datatype) {
    case 'BOOL':
      return view.setUint8(at, value === 'true' || value === 1 ? 1 : 0);
    case 'FP16':
      return view.setUint16(at, HALVES.float16.encode([Number(value)])[0]!, true);
    case 'BF16':
      return view.setUint16(at, HALVES.bfloat16.encode([Number(value)])[0]!, true);
    case 'FP32':
      return view.setFloat32(at, Number(value), true);
    case 'FP64':
      return view.setFloat64(at, Number(value), true);
    case 'INT64':
    case 'UINT64':
      return view.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true);
  }
  const size = SIZES[datatype]!;
  if (size === 1) view.setUint8(at, Number(value));
  else if (size === 2) view.setUint16(at, Number(value), true);
  else view.setUint32(at, Number(value), true);
}

/** Each element behind its length in four bytes. */
function encodeBytes(values: Elements['values']): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts = Array.from(values, (value) => (value instanceof Uint8Array ? value : encoder.encode(String(value))));
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + 4 + length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const part of parts) {
    view.setUint32(at, part.length, true);
    bytes.set(part, at + 4);
    at += 4 + part.length;
  }
  return bytes;
}

/** One element of an answer. */
export type Value = number | bigint | boolean | string | Uint8Array;

/** The elements of an answer in the protocol's raw form. */
export function decodeElements(bytes: Uint8Array, datatype: string): Value[] {
  if (datatype === 'BYTES') return decodeBytes(bytes);
  const size = SIZES[datatype];
  if (size === undefined) throw new Error(`the answer has a tensor of the unknown datatype ${datatype}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / size }, (_, index) => get(view, index * size, datatype));
}

function get(view: DataView, at: number, datatype: string): Value {
  switch (datatype) {
    case 'BOOL':
      return view.getUint8(at) !== 0;
    case 'FP16':
      return HALVES.float16.decode(Uint16Array.of(view.getUint16(at, true)))[0]!;
    case 'BF16':
      return HALVES.bfloat16.decode(Uint16Array.of(view.getUint16(at, true)))[0]!;
    case 'FP32':
      return view.getFloat32(at, true);
    case 'FP64':
      return view.getFloat64(at, true);
    case 'INT64':
      return view.getBigInt64(at, true);
    case 'UINT64':
      return view.getBigUint64(at, true);
    case 'INT8':
      return view.getInt8(at);
    case 'INT16':
      return view.getInt16(at, true);
    case 'INT32':
      return view.getInt32(at, true);
    case 'UINT8':
      return view.getUint8(at);
    case 'UINT16':
      return view.getUint16(at, true);
    default:
      return view.getUint32(at, true);
  }
}

function decodeBytes(bytes: Uint8Array): Value[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: Value[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = view.getUint32(at, true);
    const element = bytes.subarray(at + 4, at + 4 + length);
    values.push(asText(element) ?? element);
    at += 4 + length;
  }
  return values;
}

/** Undefined for bytes that are no text. */
function asText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // oxlint-disable-next-line no-control-regex -- characters that no text has
    return /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}
