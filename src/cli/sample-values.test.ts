import { describe, expect, it } from 'vitest';

import { DTYPES, type Dtype } from '../tensor/dtype.js';
import type { Tensor } from '../tensor/tensor.js';
import { samplePlain, sampleTensor } from './sample-values.js';

const spec = (dtype: Dtype, shape: readonly number[]) => ({
  name: 'x',
  dtype,
  datatype: DTYPES[dtype].datatype,
  shape,
  optional: false,
});

describe('values that stand for those of users', () => {
  it.each(Object.keys(DTYPES) as Dtype[])('are a tensor of %s, with as many rows as are asked for', (dtype) => {
    const tensor: Tensor<Dtype> = sampleTensor(spec(dtype, [2, -1]), 3);
    expect(tensor.shape).toEqual([3, 2, 1]);
    expect(DTYPES[tensor.dtype].datatype).toBe(DTYPES[dtype].datatype);
    expect(sampleTensor(spec(dtype, []), undefined)).toMatchObject({ shape: [] });
  });

  it('are small numbers, that are none of them 0', () => {
    const values = samplePlain(spec('int8', [300])) as readonly number[];
    expect([Math.min(...values), Math.max(...values), values.length]).toEqual([1, 10, 300]);
  });
});
