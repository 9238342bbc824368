// A message as protobuf reads it, for a decoder that takes a field's wire type for granted and lets what is nested end beyond its
// length: such messages are malformed, and a field of another wire type than the schema's is an unknown one, and left out.

import { ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf';

import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT, type WireReader } from './wire-reader.js';

type Forms = ReadonlyMap<number, FieldForm>;

/** What the schema says of a field. */
interface FieldForm {
  readonly wireType: number;
  readonly isPackable: boolean;
  /** Of a message, or of a map's entry. */
  readonly nested: (() => Forms) | undefined;
}

const MOST_DEPTH = 100;

/** Throws INTERNAL when the message is malformed, and what the reader throws when it has too many fields, nested ones included. */
export function knownFields(schema: DescMessage, bytes: Uint8Array, reader: WireReader): Uint8Array {
  reader.start(bytes);
  try {
    return readMessage(reader, formsOf(schema), 0) ?? bytes;
  } finally {
    reader.release();
  }
}

/** Up to the reader's limit. Undefined: there is nothing to leave out. */
function readMessage(reader: WireReader, forms: Forms, depth: number): Buffer | undefined {
  if (depth > MOST_DEPTH) reader.malformed();
  let kept: Uint8Array[] | undefined;
  let keptTo = reader.position;
  const keepTo = (end: number, ...more: readonly Uint8Array[]) => {
    (kept ??= []).push(reader.bytes.subarray(keptTo, end), ...more);
    keptTo = reader.position;
  };
  while (reader.position < reader.limit) {
    const start = reader.position;
    const tag = reader.tag();
    const type = tag & 7;
    const form = forms.get(tag >>> 3);
    if (form !== undefined && type === LENGTH_DELIMITED && (form.nested !== undefined || form.isPackable)) {
      const length = reader.position;
      const outer = reader.enter();
      const inner =
        form.nested === undefined ? readPacked(reader, form) : readMessage(reader, form.nested(), depth + 1);
      reader.leave(outer);
      if (inner !== undefined) keepTo(length, writtenLength(inner.length), inner);
      continue;
    }
    reader.skip(tag);
    if (form !== undefined && type !== form.wireType) keepTo(start);
  }
  if (kept === undefined) return undefined;
  keepTo(reader.position);
  return Buffer.concat(kept);
}

function readPacked(reader: WireReader, { wireType }: FieldForm): undefined {
  while (reader.position < reader.limit) reader.skip(wireType);
}

function writtenLength(length: number): Buffer {
  const bytes: number[] = [];
  let left = length;
  for (; left > 0x7f; left >>>= 7) bytes.push((left & 0x7f) | 0x80);
  return Buffer.from([...bytes, left]);
}

const known = new WeakMap<DescMessage, Forms>();

function formsOf(schema: DescMessage): Forms {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const forms: Forms = new Map(schema.fields.map((field) => [field.number, formOf(field)]));
  known.set(schema, forms);
  return forms;
}

function formOf(field: DescField): FieldForm {
  if (field.fieldKind === 'map') {
    const entry: Forms = new Map([
      [1, scalarForm(field.mapKey)],
      [2, field.message === undefined ? scalarForm(field.scalar) : messageForm(field.message)],
    ]);
    return { wireType: LENGTH_DELIMITED, isPackable: false, nested: () => entry };
  }
  if (field.message !== undefined) return messageForm(field.message);
  const form = scalarForm(field.scalar);
  return { ...form, isPackable: field.fieldKind === 'list' && form.wireType !== LENGTH_DELIMITED };
}

function messageForm(message: DescMessage): FieldForm {
  return { wireType: LENGTH_DELIMITED, isPackable: false, nested: () => formsOf(message) };
}

/** Undefined stands for an enumeration. */
function scalarForm(scalar: ScalarType | undefined): FieldForm {
  return { wireType: wireTypeOf(scalar), isPackable: false, nested: undefined };
}

function wireTypeOf(scalar: ScalarType | undefined): number {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return LENGTH_DELIMITED;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return FIXED64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return FIXED32;
    default:
      return VARINT;
  }
}
