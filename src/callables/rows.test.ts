import { describe, expect, it } from 'vitest';

import type { Dtype } from '../tensor/dtype.js';
import type { Nested } from '../tensor/nested.js';
import { Tensor } from '../tensor/tensor.js';
import { repeatLastRow, scatterRows, takeRows } from './rows.js';

const ROWS: readonly [Dtype, Nested][] = [
  ['float32', [[1, 2], [3, 4], [5, 6]]],
  ['int64', [[1n], [2n], [3n]]],
  ['bool', [[true], [false], [true]]],
  ['string', [['a'], ['b'], ['c']]],
  ['bytes', [[Uint8Array.of(1)], [Uint8Array.of(2)], [Uint8Array.of(3)]]],
  ['uint8', Array.from({ length: 3 }, (_, row) => Array.from({ length: 20 }, (_, i) => 20 * row + i))],
  ['float64', [[], [], []]],
  ['int8', [1, 2, 3]],
]; // prettier-ignore

describe.each(ROWS)('rows of %s', (dtype, nested) => {
  const rows = nested as readonly Nested[];
  const tensor = Tensor.from(dtype, rows);

  it('are taken out in the order asked for', () => {
    expect(takeRows(tensor, [2, 0]).toNested()).toEqual([rows[2], rows[0]]);
    expect(takeRows(tensor, [1, 2]).toNested()).toEqual([rows[1], rows[2]]);
    expect(takeRows(tensor, []).shape).toEqual([0, ...tensor.shape.slice(1)]);
  });

  it('are put back where they came from', () => {
    const places = [[2, 0], [1]]; // prettier-ignore
    const parts = places.map((indices) => takeRows(tensor, indices));
    expect(scatterRows(parts, places)).toEqual(tensor);
  });

  it('are repeated at the end', () => {
    expect(repeatLastRow(tensor, 5).toNested()).toEqual([...rows, rows[2], rows[2]]);
  });
});

describe('takeRows', () => {
  it('gives a view of rows that lie one after the other', () => {
    const tensor = Tensor.from('float32', [[1], [2], [3]]);
    expect(takeRows(tensor, [1, 2]).data.buffer).toBe(tensor.data.buffer);
    expect(takeRows(tensor, [1, 0]).data.buffer).not.toBe(tensor.data.buffer);
  });
});
