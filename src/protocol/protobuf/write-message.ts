// Writes messages of any type by its table. Fields are in the order of their numbers, and defaults are left out.

import type { Choice, Field, Kind, MessageType, Scalar } from './message-type.js';
import { type Init, isEmptyValue, type Values } from './values.js';
import { wireFormOf, wireTypeOf } from './wire-form.js';
import { LENGTH_DELIMITED } from './wire-types.js';

/** The bytes of a message. The caller may leave out any member. */
export function writeMessage<T extends object>(type: MessageType<T>, values: Init<T>): Buffer {
  const parts: Uint8Array[] = [];
  writeFields(parts, type, values as Values);
  return Buffer.concat(parts);
}

function writeFields(parts: Uint8Array[], type: MessageType<object>, values: Values): void {
  for (const field of wireFormOf(type).inOrder) {
    const { localName, oneof } = field;
    if (oneof === undefined) {
      writeField(parts, field, values[localName]);
      continue;
    }
    const chosen = values[oneof.localName] as Choice | undefined;
    // A default is written too, because it matters which member is set.
    if (chosen?.case === localName) writeValue(parts, field.number, field.kind, chosen.value);
  }
}

function writeField(parts: Uint8Array[], field: Field, value: unknown): void {
  if (value === undefined) return;
  const { kind, number } = field;
  if (field.form === 'list') writeList(parts, number, kind, value as readonly unknown[]);
  else if (field.form === 'map') {
    for (const [key, each] of Object.entries(value as Values)) {
      const entry: Uint8Array[] = [];
      writeValue(entry, 1, { scalar: field.mapKey }, field.mapKey === 'string' ? key : BigInt(key));
      writeValue(entry, 2, kind, each);
      writeBytes(parts, number, Buffer.concat(entry));
    }
  } else if (field.form === 'optional' || 'message' in kind || !isEmptyValue(kind, value)) {
    writeValue(parts, number, kind, value);
  }
}

/** Numbers are packed. */
function writeList(parts: Uint8Array[], number: number, kind: Kind, list: readonly unknown[]): void {
  if (list.length === 0) return;
  const isPacked = wireTypeOf(kind) !== LENGTH_DELIMITED;
  if (isPacked) writeBytes(parts, number, Buffer.concat(list.map((each) => numberBytes(kind, each))));
  else for (const each of list) writeValue(parts, number, kind, each);
}

function writeValue(parts: Uint8Array[], number: number, kind: Kind, value: unknown): void {
  if ('message' in kind) {
    const inner: Uint8Array[] = [];
    writeFields(inner, kind.message, value as Values);
    writeBytes(parts, number, Buffer.concat(inner));
  } else if ('scalar' in kind && kind.scalar === 'string') writeBytes(parts, number, Buffer.from(value as string));
  else if ('scalar' in kind && kind.scalar === 'bytes') writeBytes(parts, number, value as Uint8Array);
  else parts.push(varint(BigInt(number * 8 + wireTypeOf(kind))), numberBytes(kind, value));
}

function writeBytes(parts: Uint8Array[], number: number, bytes: Uint8Array): void {
  parts.push(varint(BigInt(number * 8 + LENGTH_DELIMITED)), varint(BigInt(bytes.length)), bytes);
}

function numberBytes(kind: Kind, value: unknown): Uint8Array {
  const scalar: Scalar | undefined = 'scalar' in kind ? kind.scalar : undefined;
  if (scalar !== 'double' && scalar !== 'float') return varint(BigInt(value as bigint | boolean | number));
  const bytes = Buffer.alloc(scalar === 'double' ? 8 : 4);
  if (scalar === 'double') bytes.writeDoubleLE(value as number);
  else bytes.writeFloatLE(value as number);
  return bytes;
}

/** Negative numbers are written as 64 bits, as protobuf has them. */
function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Uint8Array.from([...bytes, Number(rest)]);
}
