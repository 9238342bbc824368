// Reads messages of any type by its table. It reads no messages of inference, so clarity counts for more than speed. A field
// whose wire type differs from the schema's is unknown. Unknown fields are left out, as protobuf demands of proto3 readers.

import type { Field, Kind, MapField, MessageType, Scalar } from './message-type.js';
import { emptyMessage, emptyValue, setEntry, type Values, zeroOf } from './values.js';
import { wireFormOf, wireTypeOf } from './wire-form.js';
import type { WireReader } from './wire-reader.js';
import { LENGTH_DELIMITED } from './wire-types.js';

const MOST_DEPTH = 100;

/** Throws the reader's errors: INTERNAL for malformed bytes, INVALID_ARG beyond its limits, nested fields included. */
export function readMessage<T extends object>(type: MessageType<T>, bytes: Uint8Array, reader: WireReader): T {
  reader.start(bytes);
  try {
    const values = emptyMessage(type);
    readFields(reader, type, values as Values, 0);
    return values;
  } finally {
    reader.release();
  }
}

/** Reads up to the reader's limit. `values` may hold fields from an earlier part of the same message. */
function readFields(reader: WireReader, type: MessageType<object>, values: Values, depth: number): void {
  if (depth > MOST_DEPTH) reader.malformed();
  const { byNumber } = wireFormOf(type);
  while (reader.position < reader.limit) {
    const tag = reader.tag();
    const field = byNumber.get(tag >>> 3);
    if (field === undefined || !readField(reader, field, { wireType: tag & 7, values, depth })) reader.skip(tag);
  }
}

interface Place {
  readonly wireType: number;
  readonly values: Values;
  readonly depth: number;
}

/** Returns false, and reads nothing, when the wire type is not the field's. */
function readField(reader: WireReader, field: Field, { wireType, values, depth }: Place): boolean {
  const { kind, localName, oneof } = field;
  const expected = field.form === 'map' ? LENGTH_DELIMITED : wireTypeOf(kind);
  if (field.form === 'list') {
    const list = values[localName] as unknown[];
    if (wireType === expected) list.push(readValue(reader, kind, undefined, depth));
    else if (wireType === LENGTH_DELIMITED) readPacked(reader, kind, list);
    else return false;
    return true;
  }
  if (wireType !== expected) return false;
  if (field.form === 'map') readEntry(reader, field, values[localName] as Values, depth);
  else if (oneof === undefined) values[localName] = readValue(reader, kind, values[localName], depth);
  else {
    const chosen = values[oneof.localName] as { readonly case?: string; readonly value?: unknown };
    const before = chosen.case === localName ? chosen.value : undefined;
    values[oneof.localName] = { case: localName, value: readValue(reader, kind, before, depth) };
  }
  return true;
}

/** Never called for strings, bytes and messages, which are never packed. */
function readPacked(reader: WireReader, kind: Kind, list: unknown[]): void {
  const outer = reader.enter();
  while (reader.position < reader.limit) list.push(readValue(reader, kind, undefined, 0));
  reader.leave(outer);
}

function readEntry(reader: WireReader, field: MapField, entries: Values, depth: number): void {
  let key: string | undefined;
  let value: unknown;
  const outer = reader.enter();
  while (reader.position < reader.limit) {
    const tag = reader.tag();
    const [number, wireType] = [tag >>> 3, tag & 7];
    if (number === 1 && wireType === wireTypeOf({ scalar: field.mapKey }))
      key = String(readScalar(reader, field.mapKey));
    else if (number === 2 && wireType === wireTypeOf(field.kind))
      value = readValue(reader, field.kind, value, depth + 1);
    else reader.skip(tag);
  }
  reader.leave(outer);
  setEntry(entries, key ?? String(zeroOf(field.mapKey)), value ?? emptyValue(field.kind));
}

/** `before`: the message that an earlier field set. The new one is merged into it. */
function readValue(reader: WireReader, kind: Kind, before: unknown, depth: number): unknown {
  if ('scalar' in kind) return readScalar(reader, kind.scalar);
  if ('enum' in kind) return readScalar(reader, 'int32');
  const values = before ?? emptyMessage(kind.message);
  const outer = reader.enter();
  readFields(reader, kind.message, values as Values, depth + 1);
  reader.leave(outer);
  return values;
}

function readScalar(reader: WireReader, scalar: Scalar): unknown {
  switch (scalar) {
    case 'string':
      return reader.text();
    case 'bytes':
      return reader.byteString();
    case 'bool':
      return reader.bool();
    case 'float':
      return reader.float();
    case 'double':
      return reader.double();
    default:
      reader.varint();
      if (scalar === 'int32') return reader.low;
      if (scalar === 'uint32') return reader.low >>> 0;
      return scalar === 'int64' ? reader.lastInt64() : BigInt.asUintN(64, reader.lastInt64());
  }
}
