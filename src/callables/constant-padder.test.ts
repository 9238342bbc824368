import { describe, expect, it } from 'vitest';

import type { Dtype } from '../tensor/dtype.js';
import type { Nested } from '../tensor/nested.js';
import { Tensor } from '../tensor/tensor.js';
import { constantPadder } from './constant-padder.js';

const nested = (tensors: readonly Readonly<Record<string, Tensor>>[]) => tensors.map(({ y }) => y!.toNested());

function pad(dtype: Dtype, groups: readonly Nested[], value?: number | bigint | boolean): unknown {
  const padder = value === undefined ? constantPadder() : constantPadder(value);
  return nested(padder(groups.map((rows) => ({ y: Tensor.from(dtype, rows) }))));
}

describe('constantPadder', () => {
  it('pads every dimension after the rows at its end', () => {
    expect(
      pad(
        'int32',
        [
          [[[1, 2, 3]]],
          [
            [[4], [5]],
            [[6], [7]],
          ],
        ],
        -1,
      ),
    ).toEqual([
      [[[1, 2, 3], [-1, -1, -1]]], // prettier-ignore
      [[[4, -1, -1], [5, -1, -1]], [[6, -1, -1], [7, -1, -1]]], // prettier-ignore
    ]);
  });

  it('keeps rows and columns apart where a dimension in between grows', () => {
    expect(pad('int32', [[[[1]], [[2]]], [[[3], [4]]]])).toEqual([[[[1], [0]], [[2], [0]]], [[[3], [4]]]]); // prettier-ignore
  });

  it('pads with 0 by default, and hands through what is large enough', () => {
    const large = Tensor.from('float32', [[1, 2]]);
    const [first, second] = constantPadder()([{ y: large }, { y: Tensor.from('float32', [[3]]) }]);
    expect(first!['y']).toBe(large);
    expect(second!['y']!.toNested()).toEqual([[3, 0]]);
  });

  it('pads tensors without elements', () => {
    expect(pad('float32', [[[]], [[1, 2]]], 5)).toEqual([[[5, 5]], [[1, 2]]]);
  });

  it.each<[Dtype, Nested, Nested, number | bigint | boolean, Nested]>([
    ['int64', [[1n]], [[2n, 3n]], 9n, [[1n, 9n]]],
    ['int64', [[1n]], [[2n, 3n]], 9, [[1n, 9n]]],
    ['bool', [[true]], [[true, true]], false, [[true, false]]],
    ['float16', [[1]], [[2, 3]], 0.5, [[1, 0.5]]],
    ['float64', [[1]], [[2, 3]], NaN, [[1, NaN]]],
    ['string', [['a']], [['b', 'c']], 7, [['a', '']]],
    ['bytes', [[Uint8Array.of(1)]], [['b', 'c']], 7, [[Uint8Array.of(1), new Uint8Array(0)]]],
  ])('pads %s', (dtype, small, large, value, expected) => {
    expect((pad(dtype, [small, large], value) as Nested[])[0]).toEqual(expected);
  });

  it('pads each output by itself', () => {
    const padded = constantPadder(0)([
      { y: Tensor.from('int8', [[1]]), z: Tensor.from('int8', [[1, 2]]) },
      { y: Tensor.from('int8', [[1, 2, 3]]), z: Tensor.from('int8', [[1]]) },
    ]);
    expect(padded.map(({ y, z }) => [y!.shape, z!.shape])).toEqual([[[1, 3], [1, 2]], [[1, 3], [1, 2]]]); // prettier-ignore
  });

  it.each<[Dtype, number | bigint, string]>([
    ['int8', 300, 'with 300, which does not fit int8'],
    ['int32', 0.5, 'with 0.5, which does not fit int32'],
    ['uint8', -1n, 'with -1, which does not fit uint8'],
  ])('refuses to pad %s %s', (dtype, value, problem) => {
    expect(() => pad(dtype, [[[1]], [[1, 2]]], value)).toThrow(
      expect.objectContaining({ code: 'INTERNAL', message: `constantPadder cannot pad output 'y' ${problem}` }),
    );
  });

  it('refuses different numbers of dimensions', () => {
    expect(() => pad('int8', [[[1]], [[[1]]]])).toThrow(
      "constantPadder cannot pad output 'y': its groups have rows of shape [1] and [1,1], expected as many dimensions in all",
    );
  });
});
