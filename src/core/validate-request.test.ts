import { describe, expect, it } from 'vitest';

import { completeModelConfig } from '../model/complete-model.js';
import type { ModelInferRequest } from '../model/exchange.js';
import { validateRequest } from './validate-request.js';

const CONFIG = completeModelConfig(
  {
    modelName: 'm',
    inputs: { x: { dtype: 'float32', shape: [-1] } },
    outputs: { y: { dtype: 'float32', shape: [-1] } },
    config: { maxBatchSize: 8 },
  },
  1,
);

function requestOfShape(shape: readonly number[]): ModelInferRequest {
  return {
    modelName: 'm',
    modelVersion: '',
    id: '7',
    parameters: undefined,
    inputs: [{ name: 'x', datatype: 'FP32', shape, bytes: new Uint8Array(8) }],
    outputs: [],
    priority: 0,
    timeoutMicroseconds: 0,
  };
}

describe('validateRequest', () => {
  it('accepts a shape that fits its bytes', () => {
    expect(validateRequest(requestOfShape([2, 1]), CONFIG).rows).toBe(2);
  });

  it.each([
    [
      [1, 2 ** 61],
      "[request id: 7] invalid shape for input 'x': shape [1,2305843009213693952] causes total element count to exceed maximum size of 9223372036854775807",
    ],
    [
      [-(2 ** 63), 1],
      "[request id: 7] All input dimensions should be specified for input 'x' for model 'm', got [-9223372036854775808,1]",
    ],
    [
      [1, 1, 2 ** 60],
      "[request id: 7] unexpected shape for input 'x' for model 'm'. Expected [-1,-1], got [1,1,1152921504606846976].",
    ],
  ])('names the dimensions of %j to the last digit', (shape, message) => {
    expect(() => validateRequest(requestOfShape(shape), CONFIG)).toThrow(message);
  });
});
