import { describe, expect, it } from 'vitest';

import { Tensor } from '../tensor/tensor.js';
import { tensorFromValue, type ExpectedTensor } from './tensor-from-value.js';

const EXPECTED: ExpectedTensor = { what: 'it', dtype: 'float32', shape: [2, -1], declared: [-1], converts: true };

function fromValue(value: unknown, changes: Partial<ExpectedTensor> = {}): Tensor {
  return tensorFromValue(value, { ...EXPECTED, ...changes });
}

describe('tensorFromValue', () => {
  it('gives flat data the expected shape, its open dimension filled', () => {
    expect(fromValue(Float32Array.of(1, 2, 3, 4))).toEqual(Tensor.from('float32', [[1, 2], [3, 4]])); // prettier-ignore
    expect(fromValue([1, 2])).toEqual(Tensor.from('float32', [[1], [2]]));
    expect(fromValue([1, 2], { shape: [-1] })).toEqual(Tensor.from('float32', [1, 2]));
  });

  it('leaves nested arrays the shape that they have', () => {
    expect(fromValue([[1], [2], [3]])).toEqual(Tensor.from('float32', [[1], [2], [3]]));
  });

  it('does not copy typed arrays', () => {
    const data = Float32Array.of(1, 2);
    expect(fromValue(data).data).toBe(data);
  });

  it.each<[unknown, Partial<ExpectedTensor>, string]>([
    [Float64Array.of(1), {}, 'it is a Float64Array, expected float32; wrap it in a Tensor to have it converted'],
    [Float64Array.of(1), { converts: false }, 'it is a Float64Array, expected float32'],
    [Uint8Array.of(1), { dtype: 'bytes' }, 'it is a Uint8Array, expected a Tensor or an array of elements'],
    [Float32Array.of(1, 2, 3), {}, 'it has 3 elements, which do not fill the shape [2,-1]'],
    [[1, 2, 3], {}, 'it has 3 elements, which do not fill the shape [2,-1]'],
    [[1], { shape: [2, -1, -1], declared: [-1, -1] }, 'it is an array without a shape, and [-1,-1] has more than one open dimension; return a Tensor'],
    [[[1], [1, 2]], {}, 'it: nested arrays must be rectangular, expected shape [2,1] throughout'],
    [['x', 'y'], {}, 'it: element 0 does not fit float32: expected a number, got "x"'],
    [undefined, {}, 'it is undefined, expected a Tensor, a typed array or nested arrays'],
    [7, {}, 'it is a number, expected a Tensor, a typed array or nested arrays'],
    [new Map(), {}, 'it is a Map, expected a Tensor, a typed array or nested arrays'],
  ])('refuses %o', (value, changes, message) => {
    expect(() => fromValue(value, changes)).toThrow(expect.objectContaining({ code: 'INTERNAL', message }));
  }); // prettier-ignore
});
