import { describe, expect, it } from 'vitest';

import { DTYPES, type Dtype } from '../tensor/dtype.js';
import { decodeRaw } from '../tensor/raw.js';
import { elementCount } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';
import { completeWarmups, type WarmupInput } from './model-warmup.js';

const ALL = Object.keys(DTYPES) as Dtype[];

/** The input of a warm-up request for a model with an input `x` of the dtype. */
function inputOf(dtype: Dtype, input: Omit<WarmupInput, 'dtype'>, maxBatchSize = 0, batchSize?: number) {
  const inputs = [{ name: 'x', dtype, datatype: DTYPES[dtype].datatype }];
  const warmup = { name: 'w', inputs: { x: { dtype, ...input } }, ...(batchSize !== undefined && { batchSize }) };
  const [complete] = completeWarmups([warmup], { inputs, maxBatchSize, where: "model 'm'" });
  return complete!.inputs[0]!;
}

describe('the inputs of a warm-up request', () => {
  it('have the batch axis where the model batches, one row by default', () => {
    expect(inputOf('int8', { shape: [2, 3], zeroData: true }).shape).toEqual([2, 3]);
    expect(inputOf('int8', { shape: [2, 3], zeroData: true }, 8).shape).toEqual([1, 2, 3]);
    expect(inputOf('int8', { shape: [2, 3], zeroData: true }, 8, 4).shape).toEqual([4, 2, 3]);
  });

  it.each(ALL)('of zeros are what the wire says for %s', (dtype) => {
    const { bytes, shape } = inputOf(dtype, { shape: [2, 2], zeroData: true });
    const zero = dtype === 'bytes' || dtype === 'string' ? '' : '0';
    const tensor = new Tensor(dtype, decodeRaw(dtype, bytes) as never, shape);
    const values = Array.from(tensor.data as ArrayLike<unknown>, (value) =>
      String(typeof value === 'boolean' ? Number(value) : value),
    );
    expect(new Set(values)).toEqual(new Set([zero]));
    expect(tensor.data).toHaveLength(elementCount(shape));
  });

  it.each(ALL)('of random values are many different ones for %s, the same every time', (dtype) => {
    const random = () => inputOf(dtype, { shape: [64], randomData: true });
    const { bytes, shape } = random();
    expect(random().bytes).toEqual(bytes);
    const tensor = new Tensor(dtype, decodeRaw(dtype, bytes) as never, shape);
    const values = new Set(Array.from(tensor.data as ArrayLike<unknown>, String));
    expect(values.size).toBeGreaterThan(dtype === 'bool' ? 1 : 16);
    if (!dtype.includes('float')) return;
    const floats = Array.from(dtype.endsWith('16') ? tensor.toFloat32() : (tensor.data as Float64Array));
    expect(Math.min(...floats)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...floats)).toBeLessThanOrEqual(1);
  });
});
