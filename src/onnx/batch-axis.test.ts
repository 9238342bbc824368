import { expect, it } from 'vitest';

import { Tensor } from '../tensor/tensor.js';
import { rowsFrom, rowsTo } from './batch-axis.js';

/** Its elements are their places: three digits, one of each dimension. */
function numbered(shape: readonly number[]): Tensor {
  const [a, b, c] = shape as [number, number, number];
  const data = Int32Array.from({ length: a * b * c }, (_, i) => {
    return 100 * Math.floor(i / (b * c)) + 10 * (Math.floor(i / c) % b) + (i % c);
  });
  return new Tensor('int32', data, shape);
}

it('moves rows behind the first dimension and back', () => {
  const rows = numbered([3, 2, 4]);
  const moved = rowsTo(rows, 1);
  expect(moved.shape).toEqual([2, 3, 4]);
  expect(moved.toNested()).toEqual([
    [0, 100, 200].map((first) => [first, first + 1, first + 2, first + 3]),
    [10, 110, 210].map((first) => [first, first + 1, first + 2, first + 3]),
  ]);
  expect(rowsFrom(moved, 1)).toEqual(rows);
});

it('moves rows to the last dimension and back', () => {
  const rows = numbered([2, 3, 2]);
  const moved = rowsTo(rows, 2);
  expect(moved.shape).toEqual([3, 2, 2]);
  expect([...(moved.data as Int32Array)]).toEqual([0, 100, 1, 101, 10, 110, 11, 111, 20, 120, 21, 121]);
  expect(rowsFrom(moved, 2)).toEqual(rows);
});

it('moves elements of strings, and rows without elements', () => {
  const names = new Tensor('string', ['a', 'b', 'c', 'd', 'e', 'f'], [3, 2]);
  expect(rowsTo(names, 1)).toEqual(new Tensor('string', ['a', 'c', 'e', 'b', 'd', 'f'], [2, 3]));
  const empty = new Tensor('float32', new Float32Array(), [3, 2, 0]);
  expect(rowsFrom(rowsTo(empty, 1), 1)).toEqual(empty);
});

it('leaves a tensor that has no such dimension', () => {
  const flat = new Tensor('int32', Int32Array.of(1, 2), [2]);
  expect(rowsFrom(flat, 1)).toBe(flat);
});
