import { describe, expect, it } from 'vitest';

import type { Dtype } from './dtype.js';
import { Tensor } from './tensor.js';

function refused(message: string) {
  return expect.objectContaining({ name: 'TritonError', code: 'INVALID_ARG', message });
}

describe('cast', () => {
  it('makes floats between 0 and 1 of the bytes of an image', () => {
    const image = new Tensor('uint8', Uint8Array.of(0, 51, 102, 255), [1, 2, 2]);
    const pixels = image.cast('float32', 1 / 255);
    expect([pixels.dtype, pixels.shape]).toEqual(['float32', [1, 2, 2]]);
    expect(pixels.data).toEqual(Float32Array.of(0, 0.2, 0.4, 1));
    expect(image.data).toEqual(Uint8Array.of(0, 51, 102, 255));
  });

  it.each<[Dtype, unknown, Dtype, unknown]>([
    ['uint8', [0, 255], 'float64', [0, 255]],
    ['float32', [1, -2], 'int8', [1, -2]],
    ['int64', [2n ** 62n], 'uint64', [2n ** 62n]],
    ['int64', [-7n], 'float32', [-7]],
    ['int32', [7], 'int64', [7n]],
    ['bool', [true, false], 'float32', [1, 0]],
    ['float32', [1, 0], 'bool', [true, false]],
    ['float16', [0.5, 2], 'float32', [0.5, 2]],
    ['float32', [0.5, 2], 'bfloat16', [0.5, 2]],
    ['bfloat16', [0.5], 'float16', [0.5]],
    ['float64', [NaN, Infinity, -0], 'float32', [NaN, Infinity, -0]],
    ['float32', [1], 'float32', [1]],
    ['float32', [], 'int8', []],
  ])('takes %s %o to %s %o', (from, values, to, expected) => {
    const tensor = Tensor.from(from, values as number[]);
    expect(tensor.cast(to).dtype).toBe(to);
    expect(tensor.cast(to).toNested()).toEqual(expected);
    expect(tensor.cast(to).data).not.toBe(tensor.data);
  });

  it.each<[Dtype, unknown, Dtype, number, unknown]>([
    ['float32', [0.5, 1], 'uint8', 2, [1, 2]],
    ['int64', [3n], 'float64', 0.5, [1.5]],
    ['int64', [3n], 'int64', -2, [-6n]],
    ['float16', [0.5], 'float16', 4, [2]],
    ['bool', [true], 'float32', 0.25, [0.25]],
  ])('takes %s %o to %s times %d: %o', (from, values, to, scale, expected) => {
    expect(
      Tensor.from(from, values as number[])
        .cast(to, scale)
        .toNested(),
    ).toEqual(expected);
  });

  it.each<[Dtype, unknown, Dtype, number, string]>([
    ['float32', [1, 0.5], 'uint8', 1, 'element 1 does not fit uint8: expected an integer from 0 to 255, got 0.5'],
    ['int32', [256], 'uint8', 1, 'element 0 does not fit uint8: expected an integer from 0 to 255, got 256'],
    ['float32', [2], 'bool', 1, 'element 0 does not fit bool: expected true, false, 0 or 1, got 2'],
    [
      'float64',
      [1e300],
      'float32',
      1,
      'element 0 does not fit float32: expected a number of magnitude below 3.4028235677973366e+38, got 1e+300',
    ],
    [
      'float64',
      [1e300],
      'float64',
      1e300,
      'element 0 does not fit float64: 1e+300 times 1e+300 is too large to be exact',
    ],
    [
      'int64',
      [1n, 2n ** 53n + 1n],
      'int64',
      2,
      'element 1 does not fit int64: 9007199254740993 times 2 is too large to be exact',
    ],
    [
      'uint32',
      [4e9],
      'int64',
      4e9,
      'element 0 does not fit int64: 4000000000 times 4000000000 is too large to be exact',
    ],
    ['float32', [1], 'float32', NaN, 'the scale of a cast must be a finite number, got NaN'],
    ['string', ['1'], 'float32', 1, 'a string tensor does not cast to float32, only numbers do'],
    ['float32', [1], 'bytes', 1, 'a float32 tensor does not cast to bytes, only numbers do'],
  ])('refuses %s %o to %s times %d', (from, values, to, scale, message) => {
    expect(() => Tensor.from(from, values as number[]).cast(to, scale)).toThrow(refused(message));
  });

  it('refuses what is no dtype, with the name to use', () => {
    const tensor = Tensor.from('float32', [1]);
    expect(() => tensor.cast('half' as 'float16')).toThrow("unknown dtype half: use 'float16', expected one of bool, ");
    expect(() => Tensor.from('object' as 'bytes', ['a'])).toThrow(
      "unknown dtype object: use 'bytes' or 'string', expected",
    );
    expect(() => new Tensor('FP32' as 'float32', Float32Array.of(1))).toThrow(
      "unknown dtype FP32: use 'float32', expected",
    );
  });
});
