import { describe, expect, it } from 'vitest';

import { npy } from '../../test/support/npy.js';
import { decodeRaw } from '../tensor/raw.js';
import { warmupArray } from './warmup-array.js';

const NUMBERS = Float64Array.of(1, 2, 3, 4, 5, 6);
const DOUBLES = (shape: string, data = NUMBERS) => npy('<f8', shape, data);

/** The numbers of an input of rows of three float32. */
function rowsOf(file: Buffer, rows: number | undefined, shape: readonly number[] = [3]): number[] {
  const bytes = warmupArray(file, { file: 'x.npy', dtype: 'float32', shape, rows }, "input 'x'");
  return Array.from(decodeRaw('float32', Uint8Array.from(bytes)) as Float32Array);
}

describe('an array of numpy for a warm-up', () => {
  it('is taken as it is where it has the rows of the request, as numbers of the dtype', () => {
    expect(rowsOf(DOUBLES('(2, 3)'), 2)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('is cut or repeated to the rows of the request', () => {
    expect(rowsOf(DOUBLES('(2, 3)'), 1)).toEqual([1, 2, 3]);
    expect(rowsOf(DOUBLES('(2, 3)'), 5)).toEqual([1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3]);
  });

  it('is every row where it has no batch axis', () => {
    expect(rowsOf(DOUBLES('(3,)', NUMBERS.subarray(0, 3)), 2)).toEqual([1, 2, 3, 1, 2, 3]);
    expect(rowsOf(DOUBLES('(2, 3)'), 2, [2, 3])).toEqual([1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]);
  });

  it('has the shape of the input where the model does not batch', () => {
    expect(rowsOf(DOUBLES('(2, 3)'), undefined, [2, 3])).toEqual([1, 2, 3, 4, 5, 6]);
    expect(() => rowsOf(DOUBLES('(2, 3)'), undefined)).toThrow(
      "input 'x' has the shape [3], but x.npy has an array of [2,3]",
    );
  });

  it.each([
    ['rows of another shape', DOUBLES('(3, 2)'), 'an array of [3,2], expected [3] or [rows,3]'],
    ['texts', npy('|S1', '(3,)', Buffer.from('abc')), "input 'x': x.npy has texts, expected numbers"],
    ['no rows', DOUBLES('(0, 3)', NUMBERS.subarray(0, 0)), 'an array of [0,3], expected [3] or [rows,3]'],
    ['numbers that the dtype does not have', DOUBLES('(1, 3)', Float64Array.of(1e300, 0, 0)), '1e+300'],
  ])('is refused with %s', (_, file, message) => {
    expect(() => rowsOf(file, 2)).toThrow(message);
  });
});
