import { describe, expect, it } from 'vitest';

import { stringBound, WireWriter } from './wire-writer.js';

function write(bound: number, fields: (writer: WireWriter) => void): Uint8Array[] {
  const writer = new WireWriter();
  writer.begin(bound);
  fields(writer);
  return writer.finish();
}

function messageOf(chunks: readonly Uint8Array[]): number[] {
  const frame = Buffer.concat(chunks);
  expect(frame[0]).toBe(0);
  expect(frame.readUInt32BE(1)).toBe(frame.length - 5);
  return [...frame.subarray(5)];
}

describe('WireWriter', () => {
  it('writes the prefix of an empty message', () => {
    expect(write(0, () => undefined)).toEqual([Buffer.from([0, 0, 0, 0, 0])]);
  });

  it.each([
    [0, [0]],
    [127, [0x7f]],
    [128, [0x80, 0x01]],
    [2 ** 32 - 1, [0xff, 0xff, 0xff, 0xff, 0x0f]],
    [2 ** 32, [0x80, 0x80, 0x80, 0x80, 0x10]],
    [2 ** 53 - 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]],
    [-1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    [2n ** 64n - 1n, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
  ])('writes the integer %s', (value, expected) => {
    expect(messageOf(write(10, (writer) => writer.int64(value)))).toEqual(expected);
  });

  it.each(['', 'x', 'größe', 'x'.repeat(42), '日'.repeat(42), '日'.repeat(43), 'y'.repeat(5000), '\ud800'])(
    'writes the string "%s"',
    (text) => {
      const bytes = Buffer.from(text);
      const message = Buffer.from(messageOf(write(stringBound(text), (writer) => writer.string(10, text))));
      expect(message[0]).toBe(10);
      expect(message.subarray(-bytes.length || message.length)).toEqual(bytes);
      expect(message.length).toBe(1 + (bytes.length > 127 ? 2 : 1) + bytes.length);
    },
  );

  it.each([127, 128, 16_383, 16_384])('writes the length of a nested message of %i bytes', (length) => {
    const message = Buffer.from(
      messageOf(
        write(length + 10, (writer) => {
          const start = writer.openMessage(0x12);
          for (let i = 0; i < length; i++) writer.byte(i & 0xff);
          writer.closeMessage(start);
          writer.byte(0xee);
        }),
      ),
    );
    expect(message.at(-1)).toBe(0xee);
    const body = message.subarray(message.length - 1 - length, -1);
    expect(body.every((byte, i) => byte === (i & 0xff))).toBe(true);
  });

  it('hands a large tensor on as a chunk of its own, the same bytes', () => {
    const small = Uint8Array.of(1, 2, 3);
    const large = new Uint8Array(100_000).fill(7);
    const chunks = write(40, (writer) => {
      writer.rawField(0x3a, small);
      writer.rawField(0x3a, large);
      writer.rawField(0x3a, small);
    });
    expect(chunks).toHaveLength(3);
    expect(chunks[1]).toBe(large);
    expect(messageOf(chunks)).toEqual([0x3a, 3, 1, 2, 3, 0x3a, 0xa0, 0x8d, 0x06, ...large, 0x3a, 3, 1, 2, 3]);
  });

  it('does not write into frames that it gave out', () => {
    const writer = new WireWriter();
    const frames = Array.from({ length: 5000 }, (_, i) => {
      writer.begin(10);
      writer.int64(i);
      return writer.finish();
    });
    frames.forEach((frame, i) => expect(messageOf(frame).length).toBe(i < 128 ? 1 : 2));
    expect(messageOf(frames[4999]!)).toEqual([0x87, 0x27]);
  });

  it('refuses a message beyond the limit of gRPC, in the words of Triton', () => {
    const huge = { byteLength: 2 ** 31 } as Uint8Array;
    expect(() => write(20, (writer) => writer.rawField(0x32, huge))).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: "Response has byte size 2147483654 which exceeds gRPC's byte size limit 2147483647.",
      }),
    );
  });
});
