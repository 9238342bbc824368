import { describe, expect, it } from 'vitest';

import { completeModelConfig } from '../../model/complete-model.js';
import type { InferTensor } from '../../model/exchange.js';
import type { TensorSpecs } from '../../model/tensor-spec.js';
import { batchCompatibility, batchSignature } from './batch-compatibility.js';

function compare(
  inputs: TensorSpecs,
  first: readonly (number[] | undefined)[],
  next: readonly (number[] | undefined)[],
) {
  const config = completeModelConfig({ modelName: 'm', inputs, outputs: { y: { dtype: 'float32', shape: [-1] } } }, 1);
  const request = (shapes: readonly (number[] | undefined)[]) => ({
    inputs: shapes.map((shape): InferTensor | undefined =>
      shape === undefined ? undefined : { name: 'x', datatype: 'FP32', shape, bytes: new Uint8Array() },
    ),
  });
  const signatureOf = batchSignature(config) ?? (() => '');
  return {
    isCompatible: batchCompatibility(config)(request(first), request(next)),
    haveOneSignature: signatureOf(request(first)) === signatureOf(request(next)),
  };
}

const OPEN = { dtype: 'float32', shape: [-1, 3] } as const;
const OPEN2 = { dtype: 'float32', shape: [-1, -1] } as const;
const FIXED = { dtype: 'float32', shape: [2, 3] } as const;
const OPTIONAL = { dtype: 'float32', shape: [-1], optional: true } as const;

describe('batchCompatibility', () => {
  it.each([
    ['requests of equal shape', { a: OPEN }, [[1, 4, 3]], [[1, 4, 3]], true],
    ['different numbers of rows', { a: OPEN }, [[1, 4, 3]], [[7, 4, 3]], true],
    ['an open dimension that differs', { a: OPEN }, [[1, 4, 3]], [[1, 5, 3]], false],
    ['fixed dimensions, which validation has compared', { a: FIXED }, [[1, 2, 3]], [[1, 2, 3]], true],
    [
      'an open dimension that differs in the second input',
      { a: FIXED, b: OPEN },
      [
        [1, 2, 3],
        [1, 4, 3],
      ],
      [
        [1, 2, 3],
        [1, 1, 3],
      ],
      false,
    ],
    [
      'an optional input that only the first has',
      { a: FIXED, b: OPTIONAL },
      [
        [1, 2, 3],
        [1, 4],
      ],
      [[1, 2, 3], undefined],
      false,
    ],
    [
      'an optional input that only the second has',
      { a: FIXED, b: OPTIONAL },
      [[1, 2, 3], undefined],
      [
        [1, 2, 3],
        [1, 4],
      ],
      false,
    ],
    [
      'an optional input that neither has',
      { a: FIXED, b: OPTIONAL },
      [[1, 2, 3], undefined],
      [[1, 2, 3], undefined],
      true,
    ],
    [
      'an optional input that both have',
      { a: FIXED, b: OPTIONAL },
      [
        [1, 2, 3],
        [1, 4],
      ],
      [
        [1, 2, 3],
        [1, 4],
      ],
      true,
    ],
    [
      'an optional input of another shape',
      { a: FIXED, b: OPTIONAL },
      [
        [1, 2, 3],
        [1, 4],
      ],
      [
        [1, 2, 3],
        [1, 5],
      ],
      false,
    ],
    [
      'both differences',
      { a: OPEN, b: OPTIONAL },
      [
        [1, 4, 3],
        [1, 4],
      ],
      [[1, 5, 3], undefined],
      false,
    ],
  ] as const)('compares %s', (_, inputs, first, next, expected) => {
    expect(compare(inputs as TensorSpecs, first as never, next as never)).toEqual({
      isCompatible: expected,
      haveOneSignature: expected,
    });
  });

  it('tells dimensions from each other that look alike in a row', () => {
    const found = compare(
      { a: OPEN2, b: OPEN2 },
      [
        [1, 1, 12],
        [1, 3, 4],
      ],
      [
        [1, 11, 2],
        [1, 3, 4],
      ],
    );
    expect(found).toEqual({ isCompatible: false, haveOneSignature: false });
  });

  it('has no signature for models whose requests all have one shape', () => {
    const fixed = { modelName: 'm', inputs: { a: FIXED }, outputs: { y: FIXED } };
    expect(batchSignature(completeModelConfig(fixed, 1))).toBeUndefined();
  });
});
