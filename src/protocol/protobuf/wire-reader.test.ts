import { describe, expect, it } from 'vitest';

import { WireReader } from './wire-reader.js';

function readerOf(...bytes: number[]): WireReader {
  const reader = new WireReader('request');
  reader.start(Uint8Array.from(bytes));
  return reader;
}

const NINE_CONTINUED = Array.from({ length: 9 }, () => 0xff);
const UNPARSEABLE = expect.objectContaining({ code: 'INTERNAL', message: 'Unable to parse request' });

describe('WireReader', () => {
  it.each([
    [[0x00], 0],
    [[0x7f], 127],
    [[0x80, 0x01], 128],
    [[0xff, 0xff, 0xff, 0xff, 0x07], 2 ** 31 - 1],
    [[0xff, 0xff, 0xff, 0xff, 0x0f], 2 ** 32 - 1],
    [[0x80, 0x80, 0x80, 0x80, 0x10], 2 ** 32],
    [[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], 2 ** 53 - 1],
    [[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10], 2n ** 53n],
    [[...NINE_CONTINUED, 0x01], -1],
    [[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], -(2n ** 63n)],
    [[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 2n ** 63n - 1n],
    [[0x80, 0x00], 0],
  ])('reads the varint %j as int64 %s', (bytes, value) => {
    expect(readerOf(...bytes).int64()).toBe(value);
    expect(readerOf(...bytes).int64AsNumber()).toBe(Number(value));
  });

  it('reads the largest uint64', () => {
    expect(readerOf(...NINE_CONTINUED, 0x01).uint64()).toBe(2n ** 64n - 1n);
  });

  it('takes a bool as true when any bit is set, the upper ones too', () => {
    expect(readerOf(0x80, 0x80, 0x80, 0x80, 0x10).bool()).toBe(true);
    expect(readerOf(0x80, 0x00).bool()).toBe(false);
  });

  it.each([
    ['a varint that does not end', [0x80]],
    ['a varint of eleven bytes', [...NINE_CONTINUED, 0xff, 0x01]],
    ['nothing', []],
  ])('refuses %s', (_, bytes) => {
    expect(() => readerOf(...bytes).varint()).toThrow(UNPARSEABLE);
  });

  it.each([
    ['field number 0', [0x02]],
    ['field number 0 in two bytes', [0x82, 0x00]],
    ['a tag of more than 32 bits', [0x8a, 0x80, 0x80, 0x80, 0x10]],
  ])('refuses the tag of %s', (_, bytes) => {
    expect(() => readerOf(...bytes).tag()).toThrow(UNPARSEABLE);
  });

  it('refuses a length beyond the message that it is in', () => {
    const reader = readerOf(2, 2, 65, 65);
    reader.enter();
    expect(() => reader.length()).toThrow(UNPARSEABLE);
    expect(() => readerOf(0xff, 0xff, 0xff, 0xff, 0x0f).length()).toThrow(UNPARSEABLE);
    expect(() => readerOf(0x80, 0x80, 0x80, 0x80, 0x10).length()).toThrow(UNPARSEABLE);
  });

  it.each([
    ['a varint', [0x08, 0x96, 0x01]],
    ['64 bits', [0x09, 1, 2, 3, 4, 5, 6, 7, 8]],
    ['a string', [0x0a, 2, 65, 66]],
    ['32 bits', [0x0d, 1, 2, 3, 4]],
    ['a group with a group inside', [0x0b, 0x10, 1, 0x1b, 0x1c, 0x0c]],
  ])('passes over %s of an unknown field', (_, bytes) => {
    const reader = readerOf(...bytes);
    reader.skip(reader.tag());
    expect(reader.position).toBe(bytes.length);
  });

  it.each([
    ['cut in 64 bits', [0x09, 1, 2, 3]],
    ['cut in 32 bits', [0x0d, 1]],
    ['cut in a string', [0x0a, 3, 65]],
    ['a group without its end', [0x0b, 0x10, 1]],
    ['the end of another group', [0x0b, 0x14]],
    ['the end of no group', [0x0c]],
    ['wire type 6', [0x0e]],
    ['wire type 7', [0x0f]],
  ])('refuses an unknown field: %s', (_, bytes) => {
    const reader = readerOf(...bytes);
    expect(() => reader.skip(reader.tag())).toThrow(UNPARSEABLE);
  });

  it('refuses groups nested too deep instead of running out of stack', () => {
    const reader = new WireReader('request');
    reader.start(new Uint8Array(200_000).fill(0x0b));
    expect(() => reader.skip(reader.tag())).toThrow(UNPARSEABLE);
  });

  it.each([
    ['', 'empty'],
    ['input', 'short'],
    ['a name of more than forty characters, which is not kept', 'long'],
    ['größe', 'with umlauts'],
    ['日本語', 'in Japanese'],
    ['\ufffd', 'the replacement character itself'],
    ['\ufeffx', 'with a byte order mark'],
  ])('reads the string "%s": %s', (text) => {
    const bytes = Buffer.from(text);
    expect(readerOf(bytes.length, ...bytes).string()).toBe(text);
    expect(readerOf(bytes.length, ...bytes).name()).toBe(text);
    expect(readerOf(bytes.length, ...bytes).name()).toBe(text);
  });

  it.each([
    ['a lone continuation byte', [0x80]],
    ['a character cut in the middle', [0xe6, 0x97]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
  ])('refuses a string with %s', (_, bytes) => {
    expect(() => readerOf(bytes.length, ...bytes).string()).toThrow(UNPARSEABLE);
    expect(() => readerOf(bytes.length, ...bytes).name()).toThrow(UNPARSEABLE);
  });

  it('keeps names apart that it looks up in the same place', () => {
    const names = Array.from({ length: 3000 }, (_, i) => `name_${i}`);
    for (const name of [...names, ...names]) expect(readerOf(name.length, ...Buffer.from(name)).name()).toBe(name);
  });
});
