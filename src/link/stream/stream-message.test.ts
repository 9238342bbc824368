import { describe, expect, it } from 'vitest';

import { decodeMessage, encodeMessage, SERVER_LIMITS } from './stream-message.js';

function sent(value: unknown): unknown {
  return decodeMessage(Buffer.concat(encodeMessage({ channel: 7, value }))).value;
}

describe('a message of a link', () => {
  it.each<[string, unknown]>([
    ['numbers that JSON lacks', [NaN, Infinity, -Infinity, -0, 0, 1.5, 2 ** 53]],
    ['integers beyond 2^53', { a: 2n ** 63n - 1n, b: -(2n ** 63n) }],
    ['undefined in lists', [undefined, 1, undefined]],
    ['texts of all kinds', ['', 'ä€😀', '\u0000', '"\\']],
    ['keys that look like its own', { $buffer: 1, $$bytes: 2, plain: { $integer: '5' }, $number: 'NaN' }],
    ['buffers and bytes', [new ArrayBuffer(3), { x: Uint8Array.of(1, 2, 3) }, new Uint8Array(0)]],
    ['large buffers', [new Uint8Array(100_000).fill(7).buffer, 'between', Uint8Array.of(9)]],
  ])('carries %s', (_, value) => {
    expect(sent(value)).toEqual(value);
  });

  it('keeps a key that is named like the prototype', () => {
    const value = JSON.parse('{"__proto__": "x", "y": 1}') as object;
    const received = sent(value) as object;
    expect(Object.getPrototypeOf(received)).toBe(Object.prototype);
    expect(Object.entries(received)).toEqual([
      ['__proto__', 'x'],
      ['y', 1],
    ]);
  });

  it('carries the part of a buffer that bytes are, in memory of their own', () => {
    const whole = Uint8Array.of(1, 2, 3, 4, 5);
    const received = sent([whole.subarray(1, 3)]) as [Uint8Array];
    expect(received[0]).toEqual(Uint8Array.of(2, 3));
    expect(received[0].buffer.byteLength).toBe(2);
  });

  it('leaves room at its beginning', () => {
    const [head] = encodeMessage({ channel: 7, value: 'x' }, 5);
    expect(decodeMessage(head!.subarray(5))).toEqual({ channel: 7, value: 'x' });
  });

  it('does not copy large buffers', () => {
    const large = new ArrayBuffer(100_000);
    const pieces = encodeMessage({ channel: 1, value: [large] });
    expect(pieces).toHaveLength(2);
    expect(pieces[1]!.buffer).toBe(large);
  });

  it('refuses what is no plain data', () => {
    expect(() => encodeMessage({ channel: 1, value: [() => 1] })).toThrow('a function cannot be sent');
  });

  it.each<[string, Uint8Array]>([
    ['nothing', Uint8Array.of()],
    ['JSON that is longer than the message', Uint8Array.of(0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0)],
    ['more buffers than bytes', Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255)],
    ['what is no JSON', Uint8Array.of(0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x7b)],
    ['bytes behind the last buffer', Uint8Array.of(0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x31, 0x31)],
  ])('is refused when it is %s', (_, bytes) => {
    expect(() => decodeMessage(bytes)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining('malformed') }),
    );
  });

  it.each(['{"$buffer":0}', '{"$bytes":"0"}', '{"$integer":"1.5"}', '{"$other":1}', '['.repeat(200_000)])(
    'is refused when its JSON is %.20s',
    (text) => {
      const head = Buffer.alloc(12);
      head.writeUInt32LE(text.length, 4);
      expect(() => decodeMessage(Buffer.concat([head, Buffer.from(text)]))).toThrow('malformed');
    },
  );

  it.each<[string, number, string, string]>([
    ['deep JSON', 0, '['.repeat(60_000), '60000 objects, expected at most 50000'],
    ['many objects', 0, `[${'{},'.repeat(60_000)}0]`, '60001 objects, expected at most 50000'],
    ['many numbers', 0, `[${'0,'.repeat(600_000)}0]`, '600000 values, expected at most 500000'],
    ['many buffers', 30_000, 'null', '30000 buffers, expected at most 20000'],
    ['long JSON', 0, `"${'a'.repeat(2 ** 24)}"`, '16777218 bytes of JSON, expected at most 16777216'],
  ])('is refused by a server before it is read when it has %s', (_, buffers, json, excess) => {
    const head = Buffer.alloc(12 + 4 * buffers);
    head.writeUInt32LE(json.length, 4);
    head.writeUInt32LE(buffers, 8);
    const bytes = Buffer.concat([head, Buffer.from(json)]);
    expect(() => decodeMessage(bytes, SERVER_LIMITS)).toThrow(`a message of the link is malformed: it has ${excess}`);
  });

  it('is not sent when a server would refuse it', () => {
    const value = Array.from({ length: 60_000 }, () => []);
    expect(() => encodeMessage({ channel: 1, value }, 0, SERVER_LIMITS)).toThrow(
      expect.objectContaining({ code: 'TOO_LARGE', message: expect.stringContaining('60001 objects') }),
    );
    expect(() => encodeMessage({ channel: 1, value })).not.toThrow();
  });

  it('ends in an error of ours or in data, whatever the bytes are', () => {
    const good = Buffer.concat(
      encodeMessage({ channel: 3, value: [2, [[0, new ArrayBuffer(16), undefined, 1.5, 2n]]] }),
    );
    const codes = new Set<unknown>();
    for (let at = 0; at < good.length; at++) {
      for (const flip of [1, 0x80, 0xff]) {
        const bytes = Buffer.from(good);
        bytes[at]! ^= flip;
        try {
          decodeMessage(bytes);
        } catch (error) {
          codes.add((error as { code?: unknown }).code);
        }
      }
    }
    expect([...codes]).toEqual(['INVALID_ARG']);
  });
});
