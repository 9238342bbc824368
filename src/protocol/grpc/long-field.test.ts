import { describe, expect, it } from 'vitest';

import { longFieldAt } from './long-field.js';

const LONG = Buffer.from([0x3a, 0x80, 0x80, 0x80, 0x08]); // field 7, 16 MiB
const fields = (...parts: (Buffer | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part)));
const NAME = [0x0a, 3, 1, 2, 3];

describe('longFieldAt', () => {
  it('finds where the first long field begins, behind short ones of every kind', () => {
    expect(longFieldAt(LONG)).toBe(5);
    expect(longFieldAt(fields(NAME, LONG, [1, 2, 3]))).toBe(10);
    const kinds = fields([0x10, 0xff, 0x01], [0x19, 0, 0, 0, 0, 0, 0, 0, 0], [0x25, 0, 0, 0, 0], NAME);
    expect(longFieldAt(fields(kinds, LONG))).toBe(kinds.length + 5);
  });

  it.each<[string, Buffer]>([
    ['is empty', Buffer.alloc(0)],
    ['has short fields only', fields(NAME, NAME)],
    ['ends within a field', fields(NAME, [0x0a, 100, 1])],
    ['ends within a length', LONG.subarray(0, 3)],
    ['is no message', Buffer.alloc(100, 0xff)],
    ['has groups', fields([0x0b], LONG)],
  ])('does not know when the beginning %s', (_, bytes) => {
    expect(longFieldAt(bytes)).toBe(0);
  });
});
