import { describe, expect, it } from 'vitest';

import { concatRows } from './concat-rows.js';
import { Tensor } from './tensor.js';

/** Consecutive tensors over one buffer, `rowCounts` rows of `rest` each, with values that count up. */
function consecutive(rowCounts: readonly number[], rest: readonly number[] = [2]): Tensor<'float32'>[] {
  const size = rest.reduce((product, dim) => product * dim, 1);
  const total = rowCounts.reduce((sum, rows) => sum + rows, 0);
  const data = Float32Array.from({ length: total * size }, (_, i) => i);
  return new Tensor('float32', data, [total, ...rest]).split(rowCounts);
}

describe('concatRows', () => {
  it('views tensors that lie one after the other', () => {
    const tensors = consecutive([1, 2, 1]);
    const joined = concatRows(tensors);
    expect(joined).toEqual(new Tensor('float32', Float32Array.of(0, 1, 2, 3, 4, 5, 6, 7), [4, 2]));
    expect(joined.data.buffer).toBe(tensors[0]!.data.buffer);
    tensors[2]!.data[0] = 60;
    expect(joined.data[6]).toBe(60);
  });

  it('views them where they begin in the middle of their memory', () => {
    const [, second, third] = consecutive([1, 2, 1]);
    const joined = concatRows([second!, third!]);
    expect([...joined.data]).toEqual([2, 3, 4, 5, 6, 7]);
    expect(joined.data.byteOffset).toBe(8);
  });

  it('gives a single tensor back as it is', () => {
    const [only] = consecutive([3]);
    expect(concatRows([only!])).toBe(only);
  });

  it('passes over tensors without rows', () => {
    const tensors = consecutive([1, 0, 2]);
    const joined = concatRows(tensors);
    expect(joined.shape).toEqual([3, 2]);
    expect(joined.data.buffer).toBe(tensors[0]!.data.buffer);
  });

  it.each([
    ['out of order', ([a, b, c]: Tensor<'float32'>[]) => [b!, a!, c!]],
    ['with a gap', ([a, , c]: Tensor<'float32'>[]) => [a!, c!]],
    ['twice', ([a]: Tensor<'float32'>[]) => [a!, a!]],
    ['in memory of their own', ([a, b]: Tensor<'float32'>[]) => [a!, new Tensor('float32', b!.data.slice(), b!.shape)]],
  ])('copies tensors that lie %s', (_, pick) => {
    const tensors = pick(consecutive([1, 1, 1]));
    const joined = concatRows(tensors);
    expect([...joined.data]).toEqual(tensors.flatMap((tensor) => [...tensor.data]));
    expect(joined.data.buffer).not.toBe(tensors[0]!.data.buffer);
  });

  it.each([['bytes', [Uint8Array.of(1)]] as const, ['string', ['a']] as const])('copies lists of %s', (dtype, data) => {
    const tensor = new Tensor<'bytes' | 'string'>(dtype, [...data] as string[], [1]);
    const joined = concatRows([tensor, tensor]);
    expect(joined.data).toEqual([...data, ...data]);
    expect(joined.shape).toEqual([2]);
  });

  it('refuses neighbours of different shapes or dtypes, as Tensor.concat does', () => {
    const [a, b] = consecutive([1, 1]);
    expect(() => concatRows([a!, b!.reshape([2, 1])])).toThrow('cannot concatenate float32 [2,1] with float32 [1,2]');
    const bits = new Tensor('int32', new Int32Array(b!.data.buffer, b!.data.byteOffset, 2), [1, 2]);
    expect(() => concatRows<'float32' | 'int32'>([a!, bits])).toThrow(
      'cannot concatenate int32 [1,2] with float32 [1,2]',
    );
  });

  it('refuses tensors without rows to join', () => {
    const scalars = [0, 1].map((i) => new Tensor('float32', Float32Array.of(1, 2).subarray(i, i + 1), []));
    expect(() => concatRows(scalars)).toThrow('cannot concatenate float32 [] with float32 []');
    expect(() => concatRows([])).toThrow('cannot concatenate an empty list of tensors');
  });
});
