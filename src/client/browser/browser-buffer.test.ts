// What stands for Node's `Buffer` in browsers does what Node's does, in all that the client's codecs use of it.
import { isAscii, isUtf8 } from 'node:buffer';
import { describe, expect, it } from 'vitest';

import * as browser from './browser-buffer.js';

const TEXTS = ['', 'plain', 'é', '日本語', '😀 and more', '\ufeffmark', '\ud800 lone', '\u0000'];
const BYTES = [[], [0x61], [0xc3, 0xa9], [0xc3], [0xff, 0x41], [0xed, 0xa0, 0x80], [0xef, 0xbb, 0xbf, 0x41]];

function plain(bytes: Uint8Array): number[] {
  return [...bytes];
}

describe('the Buffer for browsers', () => {
  it.each(TEXTS)('makes bytes of %j, and text of bytes', (text) => {
    const [ours, theirs] = [browser.Buffer.from(text), Buffer.from(text)];
    expect(plain(ours)).toEqual(plain(theirs));
    expect(browser.Buffer.byteLength(text)).toBe(theirs.byteLength);
    for (const encoding of ['utf8', 'latin1', 'base64'] as const)
      expect(ours.toString(encoding)).toBe(theirs.toString(encoding));
    expect(ours.toString('utf8', 1, 3)).toBe(theirs.toString('utf8', 1, 3));
    for (const encoding of ['utf8', 'latin1'] as const) {
      const [target, expected] = [browser.Buffer.alloc(40), Buffer.alloc(40)];
      expect(target.write(text, 2, encoding)).toBe(expected.write(text, 2, encoding));
      expect(plain(target)).toEqual(plain(expected));
    }
  });

  it.each(BYTES)('knows what %j is', (...bytes) => {
    const given = Uint8Array.from(bytes);
    expect(browser.isUtf8(given)).toBe(isUtf8(given));
    expect(browser.isAscii(given)).toBe(isAscii(given));
    expect(browser.Buffer.from(given).toString()).toBe(Buffer.from(given).toString());
  });

  it('is a view of memory that it is given, and a copy of bytes', () => {
    const memory = Uint8Array.of(1, 2, 3, 4).buffer;
    const view = browser.Buffer.from(memory, 1, 2);
    const copy = browser.Buffer.from(new Uint8Array(memory, 1, 2));
    view[0] = 9;
    expect([...new Uint8Array(memory)]).toEqual([1, 9, 3, 4]);
    expect(plain(copy)).toEqual([2, 3]);
    expect(view.subarray(1)).toBeInstanceOf(browser.Buffer);
    expect(view.subarray(1).buffer).toBe(memory);
  });

  it('joins, copies, compares, and reads and writes numbers', () => {
    const joined = browser.Buffer.concat([Uint8Array.of(1), Uint8Array.of(2, 3)]);
    expect(plain(joined)).toEqual([1, 2, 3]);
    expect(plain(browser.Buffer.concat([]))).toEqual([]);
    const target = browser.Buffer.allocUnsafe(8);
    expect(joined.copy(target, 2, 1)).toBe(2);
    expect(plain(target)).toEqual([0, 0, 2, 3, 0, 0, 0, 0]);
    expect(joined.equals(Uint8Array.of(1, 2, 3))).toBe(true);
    expect(joined.equals(Uint8Array.of(1, 2, 4))).toBe(false);
    expect(joined.equals(Uint8Array.of(1, 2))).toBe(false);
    const node = Buffer.alloc(8);
    expect(target.writeUInt32LE(0xfedcba98, 4)).toBe(node.writeUInt32LE(0xfedcba98, 4));
    expect(target.readUInt32LE(4)).toBe(0xfedcba98);
    target.writeUInt32BE(0x01020304, 0);
    node.writeUInt32BE(0x01020304, 0);
    expect(plain(target)).toEqual(plain(node));
    target.writeBigUInt64LE(2n ** 64n - 2n, 0);
    node.writeBigUInt64LE(2n ** 64n - 2n, 0);
    expect(plain(target)).toEqual(plain(node));
  });
});
