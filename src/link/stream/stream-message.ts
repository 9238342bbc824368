// The bytes of a link's messages. A message is plain data: JSON, and behind it the bytes of its buffers. JSON alone has no
// undefined, no integers beyond 2^53 and no NaN. These and the buffers stand in the JSON as objects with one key that begins
// with `$`. A key of a user's own that begins so gets another `$`. All numbers are little-endian:
//
//   channel, bytes of JSON, number of buffers, bytes of each buffer: 32 bits each; JSON; buffers

import { TritonError } from '../../errors.js';

/** Messages up to this size are sent as one piece: a piece of its own costs more than copying it. */
const JOINED_BYTES = 65_536;
const LARGEST_BUFFER = 2 ** 32 - 1;

/**
 * Limits of a message to the server. Its parts become objects, so that a small message could hold the server up for
 * seconds. Bytes of buffers are limited by the size of the message alone.
 */
export const SERVER_LIMITS = {
  buffers: 20_000,
  jsonBytes: 16 * 1024 * 1024,
  objects: 50_000,
  values: 500_000,
} as const;
export type MessageLimits = typeof SERVER_LIMITS;

export interface StreamMessage {
  readonly channel: number;
  readonly value: unknown;
}

/**
 * The bytes of a message in pieces. The first has `room` unused bytes at its beginning, for what the sender puts before a
 * message. Large buffers are not copied: they belong to the pieces from now on. Throws INVALID_ARG for functions and symbols,
 * TOO_LARGE beyond the limits.
 */
export function encodeMessage({ channel, value }: StreamMessage, room = 0, limits?: MessageLimits): Uint8Array[] {
  const buffers: Uint8Array[] = [];
  const json = Buffer.from(JSON.stringify(pack(value, buffers) ?? null));
  if (limits !== undefined) {
    const excess = excessOf(json, buffers.length, limits);
    if (excess !== undefined) throw new TritonError('TOO_LARGE', `a message of ${excess} is too large for a link`);
  }
  let dataBytes = 0;
  for (const { byteLength } of buffers) dataBytes += byteLength;
  const headBytes = room + 4 * (3 + buffers.length) + json.length;
  const joins = headBytes + dataBytes <= JOINED_BYTES;
  const head = Buffer.allocUnsafe(joins ? headBytes + dataBytes : headBytes);
  let at = head.writeUInt32LE(channel, room);
  at = head.writeUInt32LE(json.length, at);
  at = head.writeUInt32LE(buffers.length, at);
  for (const { byteLength } of buffers) {
    if (byteLength > LARGEST_BUFFER)
      throw new TritonError('TOO_LARGE', `${byteLength} bytes are too many for one tensor`);
    at = head.writeUInt32LE(byteLength, at);
  }
  at += json.copy(head, at);
  if (!joins) return [head, ...buffers.filter(({ byteLength }) => byteLength > 0)];
  for (const buffer of buffers) {
    head.set(buffer, at);
    at += buffer.byteLength;
  }
  return [head];
}

/** Each buffer gets memory of its own. Throws INVALID_ARG for bytes that {@link encodeMessage} does not write. */
export function decodeMessage(bytes: Uint8Array, limits?: MessageLimits): StreamMessage {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 12) throw malformed(`it has ${bytes.byteLength} bytes`);
  const channel = view.getUint32(0, true);
  const jsonBytes = view.getUint32(4, true);
  const count = view.getUint32(8, true);
  const jsonAt = 12 + 4 * count;
  let at = jsonAt + jsonBytes;
  if (at > bytes.byteLength) throw malformed('it ends inside its JSON');
  const jsonPart = bytes.subarray(jsonAt, at);
  const excess = limits && excessOf(jsonPart, count, limits);
  if (excess !== undefined) throw malformed(`it has ${excess}`);
  const buffers: ArrayBuffer[] = [];
  for (let i = 0; i < count; i++) {
    const end = at + view.getUint32(12 + 4 * i, true);
    if (end > bytes.byteLength) throw malformed('it ends inside a buffer');
    // The message lies in memory that others may share.
    buffers.push(new Uint8Array(bytes.subarray(at, end)).buffer);
    at = end;
  }
  if (at !== bytes.byteLength) throw malformed('bytes follow its last buffer');
  const text = Buffer.from(jsonPart.buffer, jsonPart.byteOffset, jsonBytes).toString();
  let json: unknown;
  try {
    json = JSON.parse(text);
    return { channel, value: unpack(json, buffers) };
  } catch (error) {
    throw malformed(TritonError.from(error).message);
  }
}

const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

/** What a message has too much of. Commas and brackets in texts count too. */
function excessOf(json: Uint8Array, bufferCount: number, limits: MessageLimits): string | undefined {
  if (bufferCount > limits.buffers) return `${bufferCount} buffers, expected at most ${limits.buffers}`;
  if (json.byteLength > limits.jsonBytes)
    return `${json.byteLength} bytes of JSON, expected at most ${limits.jsonBytes}`;
  if (json.byteLength <= limits.objects) return undefined;
  let objects = 0;
  let values = 0;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (byte === COMMA) values++;
    else if (byte === BRACKET || byte === BRACE) objects++;
  }
  if (objects > limits.objects) return `${objects} objects, expected at most ${limits.objects}`;
  if (values > limits.values) return `${values} values, expected at most ${limits.values}`;
  return undefined;
}

function malformed(detail: string): TritonError {
  return new TritonError('INVALID_ARG', `a message of the link is malformed: ${detail}`);
}

const BUFFER = '$buffer';
const BYTES = '$bytes';
const INTEGER = '$integer';
const NUMBER = '$number';

function pack(value: unknown, buffers: Uint8Array[]): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { [NUMBER]: Object.is(value, -0) ? '-0' : String(value) };
    case 'bigint':
      return { [INTEGER]: String(value) };
    case 'undefined':
      return null;
    case 'object':
      return value === null ? null : packObject(value, buffers);
    default:
      throw new TritonError('INVALID_ARG', `a ${typeof value} cannot be sent to another process`);
  }
}

function packObject(value: object, buffers: Uint8Array[]): unknown {
  if (Array.isArray(value)) {
    const packed = new Array<unknown>(value.length);
    for (let i = 0; i < value.length; i++) packed[i] = pack(value[i], buffers);
    return packed;
  }
  if (value instanceof ArrayBuffer) return { [BUFFER]: buffers.push(new Uint8Array(value)) - 1 };
  if (value instanceof Uint8Array) return { [BYTES]: buffers.push(value) - 1 };
  const packed: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) define(packed, key.startsWith('$') ? `$${key}` : key, pack(member, buffers));
  }
  return packed;
}

function unpack(value: unknown, buffers: readonly ArrayBuffer[]): unknown {
  if (value === null) return undefined;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = unpack(value[i], buffers);
    return value;
  }
  const entries = Object.entries(value);
  const [first] = entries;
  if (entries.length === 1 && first![0].startsWith('$') && !first![0].startsWith('$$')) {
    return unpackTagged(first![0], first![1], buffers);
  }
  const unpacked: Record<string, unknown> = {};
  for (const [key, member] of entries) {
    define(unpacked, key.startsWith('$') ? key.slice(1) : key, unpack(member, buffers));
  }
  return unpacked;
}

function unpackTagged(tag: string, value: unknown, buffers: readonly ArrayBuffer[]): unknown {
  if (tag === INTEGER && typeof value === 'string' && /^-?[0-9]{1,20}$/.test(value)) return BigInt(value);
  if (tag === NUMBER && typeof value === 'string') return Number(value);
  const buffer = typeof value === 'number' ? buffers[value] : undefined;
  if (tag === BUFFER && buffer !== undefined) return buffer;
  if (tag === BYTES && buffer !== undefined) return new Uint8Array(buffer);
  throw malformed(`${tag} of ${JSON.stringify(value)}`);
}

/** Assigning to `__proto__` would change the object's prototype. */
function define(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}
