// The bytes of a link's messages. A message is plain data (`plain-values.ts`), and behind it the bytes of its buffers. All
// numbers are little-endian:
//
//   channel, bytes of values, number of buffers, bytes of each buffer: 32 bits each; values; buffers

import { TritonError } from '../../errors.js';
import { malformed, tooMany, type ValueLimits, ValueReader, ValueWriter } from './plain-values.js';

/** Messages up to this size are sent as one piece: a piece of its own costs more than copying it. */
const JOINED_BYTES = 65_536;
const LARGEST_BUFFER = 2 ** 32 - 1;
const HEAD_BYTES = 12;

/** Limits of a message to the server. */
export const SERVER_LIMITS: ValueLimits = {
  bytes: 16 * 1024 * 1024,
  objects: 50_000,
  values: 500_000,
  buffers: 20_000,
};

export interface StreamMessage {
  readonly channel: number;
  readonly value: unknown;
}

/**
 * The bytes of a message in pieces. The first has `room` unused bytes at its beginning, for what the sender puts before a
 * message. Large buffers are not copied: they belong to the pieces from now on. Throws INVALID_ARG for functions and symbols,
 * TOO_LARGE beyond the limits.
 */
export function encodeMessage({ channel, value }: StreamMessage, room = 0, limits?: ValueLimits): Uint8Array[] {
  const writer = new ValueWriter();
  writer.write(value);
  const { buffers, byteLength: valueBytes } = writer;
  if (limits !== undefined) {
    const excess =
      tooMany('buffers', buffers.length, limits) ??
      tooMany('bytes', valueBytes, limits) ??
      tooMany('objects', writer.objects, limits) ??
      tooMany('values', writer.values, limits);
    if (excess !== undefined) throw new TritonError('TOO_LARGE', `a message of ${excess} is too large for a link`);
  }
  let dataBytes = 0;
  for (const { byteLength } of buffers) dataBytes += byteLength;
  const headBytes = room + HEAD_BYTES + 4 * buffers.length + valueBytes;
  const joins = headBytes + dataBytes <= JOINED_BYTES;
  const head = Buffer.allocUnsafe(joins ? headBytes + dataBytes : headBytes);
  let at = head.writeUInt32LE(channel, room);
  at = head.writeUInt32LE(valueBytes, at);
  at = head.writeUInt32LE(buffers.length, at);
  for (const { byteLength } of buffers) {
    if (byteLength > LARGEST_BUFFER)
      throw new TritonError('TOO_LARGE', `${byteLength} bytes are too many for one tensor`);
    at = head.writeUInt32LE(byteLength, at);
  }
  at = writer.copyTo(head, at);
  if (!joins) return [head, ...buffers.filter(({ byteLength }) => byteLength > 0)];
  for (const buffer of buffers) {
    head.set(buffer, at);
    at += buffer.byteLength;
  }
  return [head];
}

/** Each buffer gets memory of its own. Throws INVALID_ARG for bytes that {@link encodeMessage} does not write. */
export function decodeMessage(bytes: Buffer, limits?: ValueLimits): StreamMessage {
  if (bytes.length < HEAD_BYTES) throw malformed(`it has ${bytes.length} bytes`);
  const channel = bytes.readUInt32LE(0);
  const valueBytes = bytes.readUInt32LE(4);
  const count = bytes.readUInt32LE(8);
  const excess = limits && (tooMany('buffers', count, limits) ?? tooMany('bytes', valueBytes, limits));
  if (excess !== undefined) throw malformed(`it has ${excess}`);
  const valuesAt = HEAD_BYTES + 4 * count;
  let at = valuesAt + valueBytes;
  if (at > bytes.length) throw malformed('it ends inside its values');
  const values = bytes.subarray(valuesAt, at);
  const buffers: ArrayBuffer[] = [];
  for (let i = 0; i < count; i++) {
    const end = at + bytes.readUInt32LE(HEAD_BYTES + 4 * i);
    if (end > bytes.length) throw malformed('it ends inside a buffer');
    // The message lies in memory that others may share.
    const buffer = new ArrayBuffer(end - at);
    bytes.copy(new Uint8Array(buffer), 0, at, end);
    buffers.push(buffer);
    at = end;
  }
  if (at !== bytes.length) throw malformed('bytes follow its last buffer');
  return { channel, value: new ValueReader(values, buffers, limits).readAll() };
}
