// The wire form of messages: the wire type of each kind, and fields by their numbers. Browsers need none of it.

import type { Field, Kind, MessageType, Scalar } from './message-type.js';
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT } from './wire-types.js';

const WIRE_TYPES: Readonly<Record<Scalar, number>> = {
  string: LENGTH_DELIMITED,
  bytes: LENGTH_DELIMITED,
  bool: VARINT,
  int32: VARINT,
  uint32: VARINT,
  int64: VARINT,
  uint64: VARINT,
  float: FIXED32,
  double: FIXED64,
};

export function wireTypeOf(kind: Kind): number {
  if ('scalar' in kind) return WIRE_TYPES[kind.scalar];
  return 'enum' in kind ? VARINT : LENGTH_DELIMITED;
}

interface WireForm {
  readonly byNumber: ReadonlyMap<number, Field>;
  /** Fields in the order of writing. */
  readonly inOrder: readonly Field[];
}

const known = new WeakMap<MessageType<object>, WireForm>();

export function wireFormOf(type: MessageType<object>): WireForm {
  const found = known.get(type);
  if (found !== undefined) return found;
  const byNumber = new Map(type.fields.map((field) => [field.number, field]));
  const form = { byNumber, inOrder: type.fields.toSorted((a, b) => a.number - b.number) };
  known.set(type, form);
  return form;
}
