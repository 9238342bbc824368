import { describe, expect, it } from 'vitest';

import { decodeElements, encodeElements, readElements } from './elements.js';

const read = (typed: string, datatype: string, shape: readonly number[]) =>
  readElements(typed, { name: 'x', datatype: datatype as 'FP32', shape });

describe('what people type', () => {
  it('is JSON, or values between commas and blanks', () => {
    for (const typed of ['1, 2.5 -3e2', '[1,2.5,-3e2]', ' 1\n2.5\n-300 ']) {
      expect(read(typed, 'FP32', [-1])).toEqual({ shape: [3], values: ['1', '2.5', '-300'] });
    }
    expect(read('[[1, 2], [3, 4], [5, 6]]', 'INT32', [-1, 2])).toEqual({
      shape: [3, 2],
      values: ['1', '2', '3', '4', '5', '6'],
    });
    expect(read('1 2 3 4', 'INT32', [-1, 2]).shape).toEqual([2, 2]);
    expect(read('["a, b", "\\"c]\\""]', 'BYTES', [-1]).values).toEqual(['a, b', '"c]"']);
    expect(read('7', 'UINT8', [])).toEqual({ shape: [], values: ['7'] });
  });

  it('names truth, infinities and what is no number', () => {
    expect(read('true FALSE 1 0', 'BOOL', [4]).values).toEqual(['true', 'false', 'true', 'false']);
    expect(read('inf, -Infinity, NaN', 'FP64', [3]).values).toEqual(['Infinity', '-Infinity', 'NaN']);
  });

  it.each([
    ['1, x', 'FP32', [-1], "'x' is no number"],
    ['1.5', 'INT32', [1], "'1.5' is no integer"],
    ['300', 'UINT8', [1], '300 is beyond UINT8, which goes from 0 to 255'],
    ['9223372036854775808', 'INT64', [1], '9223372036854775808 is beyond INT64'],
    ['maybe', 'BOOL', [1], "'maybe' is neither true nor false"],
    ['1 2', 'FP32', [3], 'the shape [3] has 3 values, got 2'],
    ['', 'FP32', [1], 'the shape [1] has 1 value, got 0'],
    ['1 2 3', 'FP32', [-1, 2], 'the shape [-1, 2] has a multiple of 2 values, got 3'],
    ['1 2', 'FP32', [-1, -1], 'the shape [-1, -1] wants nested lists'],
    ['[[1], [2, 3]]', 'FP32', [-1, -1], 'lists side by side must have one length'],
    ['[1, 2', 'FP32', [-1], 'the brackets and commas of the list do not match'],
  ])('is refused with the reason: %s as %s', (typed, datatype, shape, message) => {
    expect(() => read(typed, datatype, shape)).toThrow(message);
  });
});

describe('elements', () => {
  it.each([
    ['BOOL', ['true', 'false'], [true, false]],
    ['INT8', ['-128', '127'], [-128, 127]],
    ['UINT8', ['255'], [255]],
    ['INT16', ['-32768'], [-32768]],
    ['UINT16', ['65535'], [65535]],
    ['INT32', ['-2147483648'], [-2147483648]],
    ['UINT32', ['4294967295'], [4294967295]],
    ['INT64', ['-9223372036854775808', '9007199254740993'], [-(2n ** 63n), 9007199254740993n]],
    ['UINT64', ['18446744073709551615'], [2n ** 64n - 1n]],
    ['FP16', ['1.5', '-Infinity'], [1.5, -Infinity]],
    ['BF16', ['-2'], [-2]],
    ['FP32', ['0.5', 'NaN'], [0.5, NaN]],
    ['FP64', ['0.1'], [0.1]],
    ['BYTES', ['é', ''], ['é', '']],
  ])('come back as they were sent: %s', (datatype, values, expected) => {
    expect(decodeElements(encodeElements({ shape: [values.length], values }, datatype), datatype)).toEqual(expected);
  });

  it('of bytes that are no text stay bytes', () => {
    const values = [Uint8Array.of(0xff, 0xd8), Uint8Array.of(104, 105), Uint8Array.of(0, 1)];
    expect(decodeElements(encodeElements({ shape: [3], values }, 'BYTES'), 'BYTES')).toEqual([
      values[0],
      'hi',
      values[2],
    ]);
  });
});
