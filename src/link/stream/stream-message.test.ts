import { describe, expect, it } from 'vitest';

import { decodeMessage, encodeMessage, SERVER_LIMITS } from './stream-message.js';

function sent(value: unknown): unknown {
  return decodeMessage(Buffer.concat(encodeMessage({ channel: 7, value }))).value;
}

const [NUMBER, INTEGER, TEXT, LIST, OBJECT, BUFFER] = [0x83, 0x84, 0x85, 0x86, 0x87, 0x88] as const;

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** A message of these values with empty buffers. */
function withValues(values: Buffer, buffers = 0): Buffer {
  return Buffer.concat([uint32(0), uint32(values.length), uint32(buffers), Buffer.alloc(4 * buffers), values]);
}

/** Lists within each other, the innermost empty. */
function lists(depth: number): Buffer {
  const one = Buffer.of(LIST, 1, 0, 0, 0);
  return Buffer.concat([...Array.from({ length: depth - 1 }, () => one), Buffer.of(LIST, 0, 0, 0, 0)]);
}

describe('a message of a link', () => {
  it.each<[string, unknown]>([
    ['numbers of all kinds', [NaN, Infinity, -Infinity, -0, 0, 1, 127, 128, -1, 1.5, 2 ** 32, 2 ** 53]],
    ['true and false', [true, false]],
    ['integers beyond 2^53', { a: 2n ** 63n - 1n, b: -(2n ** 63n) }],
    ['undefined in lists', [undefined, 1, undefined]],
    ['texts of all kinds', ['', 'ä€😀', '\u0000', '"\\', 'a'.repeat(5000), 'b'.repeat(23) + 'ä', '€'.repeat(3000)]],
    ['names of all kinds', { '': 1, 'ä€😀': { a: {} }, toString: 2, ['k'.repeat(300)]: [] }],
    ['many values', Array.from({ length: 3000 }, (_, index) => [index, `text ${index}`, index / 3])],
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
    const head = encodeMessage({ channel: 7, value: 'x' }, 5)[0] as Buffer;
    expect(decodeMessage(head.subarray(5))).toEqual({ channel: 7, value: 'x' });
  });

  it('leaves out members that are not there', () => {
    expect(Object.keys(sent({ a: undefined, b: 1, c: undefined }) as object)).toEqual(['b']);
  });

  it('stays whole when another one is made meanwhile', () => {
    const value = {
      before: 'one',
      get inner() {
        return sent(['two', 'three']);
      },
      behind: 'four',
    };
    expect(sent(value)).toEqual({ before: 'one', inner: ['two', 'three'], behind: 'four' });
  });

  it('does not copy large buffers', () => {
    const large = new ArrayBuffer(100_000);
    const pieces = encodeMessage({ channel: 1, value: [large] });
    expect(pieces).toHaveLength(2);
    expect(pieces[1]!.buffer).toBe(large);
  });

  it('refuses what is no plain data', () => {
    expect(() => encodeMessage({ channel: 1, value: [() => 1] })).toThrow('a function cannot be sent');
    const round: unknown[] = [];
    round.push(round);
    expect(() => encodeMessage({ channel: 1, value: round })).toThrow('a value of more than 64 levels cannot be sent');
  });

  it.each<[string, Buffer]>([
    ['nothing', Buffer.of()],
    ['values that are longer than the message', Buffer.of(0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0)],
    ['more buffers than bytes', Buffer.of(0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255)],
    ['bytes behind the last buffer', Buffer.concat([withValues(Buffer.of(1)), Buffer.of(1)])],
    ['no value', withValues(Buffer.of())],
    ['two values', withValues(Buffer.of(1, 1))],
    ['a value of no kind', withValues(Buffer.of(0x8a))],
    ['a number that is cut', withValues(Buffer.of(NUMBER, 0, 0))],
    ['a text that is longer than the message', withValues(Buffer.of(TEXT, 255, 255, 255, 255))],
    ['a list that is longer than the message', withValues(Buffer.of(LIST, 255, 255, 255, 255, 1))],
    ['an object that is longer than the message', withValues(Buffer.of(OBJECT, 255, 255, 255, 255, 0, 0, 0, 0, 1))],
    ['an integer without digits', withValues(Buffer.of(INTEGER, 1, 0, 0, 0, 0x2d))],
    [
      'an integer of a million digits',
      withValues(Buffer.concat([Buffer.of(INTEGER, 64, 66, 15, 0), Buffer.alloc(1e6, '1')])),
    ],
    ['a buffer that is not there', withValues(Buffer.of(BUFFER))],
    ['a buffer that no value has', withValues(Buffer.of(1), 1)],
    ['deep lists', withValues(lists(100))],
  ])('is refused when it has %s', (_, bytes) => {
    expect(() => decodeMessage(bytes)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining('malformed') }),
    );
  });

  const flat = (count: number, kind: readonly number[]) =>
    Buffer.concat([Buffer.of(LIST), uint32(count), Buffer.alloc(kind.length * count, Buffer.from(kind))]);
  it.each<[string, Buffer, string]>([
    ['many lists', withValues(flat(60_000, [LIST, 0, 0, 0, 0])), 'more than 50000 objects'],
    ['many numbers', withValues(flat(600_000, [5])), 'more than 500000 values'],
    ['many buffers', withValues(Buffer.of(1), 30_000), '30000 buffers, expected at most 20000'],
    [
      'a long text',
      withValues(Buffer.concat([Buffer.of(TEXT), uint32(2 ** 24), Buffer.alloc(2 ** 24, 'a')])),
      '16777221 bytes of values, expected at most 16777216',
    ],
  ])('is refused by a server when it has %s', (_, bytes, excess) => {
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
