// Protobuf messages as the specification has them, for a decoder that takes a field's wire type for granted and lets what is nested
// end beyond its length: fields of another type than the schema's are unknown ones, and left out.
import { ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf';

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const GROUP_START = 3;
const GROUP_END = 4;
const FIXED32 = 5;
const LONGEST_VARINT = 10;
const DEEPEST_GROUP = 100;

/** The message with known fields alone, without those of the names that nobody reads. Throws when it is malformed. */
export function wellFormed(schema: DescMessage, bytes: Buffer, unread: readonly string[] = []): Buffer {
  const known = schema.fields.filter(({ name }) => !unread.includes(name));
  const fields = new Map(known.map((field) => [field.number, field]));
  return rewritten(bytes, (number, type) => {
    const field = fields.get(number);
    if (field === undefined) return undefined;
    return field.fieldKind === 'map' ? entryReader(field, type) : payloadReader(field, type, unread);
  });
}

/** What is made of a field's payload; undefined: the field is unknown. */
type Rewrite = ((payload: Buffer) => Buffer) | undefined;

function entryReader(field: DescField & { readonly fieldKind: 'map' }, type: number): Rewrite {
  if (type !== LENGTH_DELIMITED) return undefined;
  return (entry) =>
    rewritten(entry, (number, inner) => {
      if (number === 1) return inner === wireTypeOf(field.mapKey) ? (key) => key : undefined;
      if (number !== 2) return undefined;
      const { message, scalar } = field;
      if (message !== undefined) return inner === LENGTH_DELIMITED ? (value) => wellFormed(message, value) : undefined;
      return inner === (scalar === undefined ? VARINT : wireTypeOf(scalar)) ? (value) => value : undefined;
    });
}

function payloadReader(field: DescField, type: number, unread: readonly string[]): Rewrite {
  const { message, scalar } = field;
  if (message !== undefined)
    return type === LENGTH_DELIMITED ? (value) => wellFormed(message, value, unread) : undefined;
  const expected = scalar === undefined ? VARINT : wireTypeOf(scalar);
  if (type === expected) return (value) => value;
  const isPackable = field.fieldKind === 'list' && expected !== LENGTH_DELIMITED;
  return isPackable && type === LENGTH_DELIMITED ? (value) => checkPacked(value, expected) : undefined;
}

function checkPacked(payload: Buffer, type: number): Buffer {
  for (let at = 0; at < payload.length;) at = skip(payload, at, type, 0);
  return payload;
}

function wireTypeOf(scalar: ScalarType): number {
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

function rewritten(bytes: Buffer, reader: (number: number, type: number) => Rewrite): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const start = at;
    const tag = varint(bytes, at);
    at = tag.end;
    if (tag.value < 8n || tag.value >= 2n ** 32n) throw new Error('a tag that is none');
    const [number, type] = [Number(tag.value >> 3n), Number(tag.value & 7n)];
    const end = skip(bytes, at, type, number);
    const rewrite = reader(number, type);
    if (rewrite !== undefined && type !== LENGTH_DELIMITED) parts.push(bytes.subarray(start, end));
    if (rewrite !== undefined && type === LENGTH_DELIMITED) {
      const payload = rewrite(bytes.subarray(varint(bytes, at).end, end));
      parts.push(bytes.subarray(start, at), written(payload.length), payload);
    }
    at = end;
  }
  return Buffer.concat(parts);
}

/** Where a field of this type ends. */
function skip(bytes: Buffer, at: number, type: number, number: number, depth = 0): number {
  switch (type) {
    case VARINT:
      return varint(bytes, at).end;
    case FIXED64:
      return within(bytes, at + 8);
    case FIXED32:
      return within(bytes, at + 4);
    case LENGTH_DELIMITED: {
      const { value, end } = varint(bytes, at);
      if (value > BigInt(bytes.length)) throw new Error('beyond the end');
      return within(bytes, end + Number(value));
    }
    case GROUP_START: {
      if (depth >= DEEPEST_GROUP) throw new Error('too deep');
      for (let inner = at; ;) {
        const tag = varint(bytes, inner);
        if (tag.value < 8n || tag.value >= 2n ** 32n) throw new Error('a tag that is none');
        const [innerNumber, innerType] = [Number(tag.value >> 3n), Number(tag.value & 7n)];
        if (innerType === GROUP_END) {
          if (innerNumber !== number) throw new Error('the end of another group');
          return tag.end;
        }
        inner = skip(bytes, tag.end, innerType, innerNumber, depth + 1);
      }
    }
    default:
      throw new Error(`wire type ${type}`);
  }
}

function within(bytes: Buffer, end: number): number {
  if (end > bytes.length) throw new Error('beyond the end');
  return end;
}

function varint(bytes: Buffer, start: number): { readonly value: bigint; readonly end: number } {
  let value = 0n;
  for (let at = start; at < start + LONGEST_VARINT; at++) {
    const byte = bytes[at];
    if (byte === undefined) throw new Error('beyond the end');
    value |= BigInt(byte & 0x7f) << BigInt(7 * (at - start));
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), end: at + 1 };
  }
  throw new Error('a varint of more than ten bytes');
}

function written(length: number): Buffer {
  const bytes: number[] = [];
  let left = length;
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left & 0x7f) | 0x80);
  return Buffer.from([...bytes, left]);
}
