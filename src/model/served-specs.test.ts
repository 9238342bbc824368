import { describe, expect, it } from 'vitest';

import { completeTensorSpecs } from './complete-tensor-specs.js';
import { servedSpecs } from './served-specs.js';
import type { TensorSpec } from './tensor-spec.js';

const WHERE = "model 'm'";

function served(kind: 'input' | 'output', spec: Omit<TensorSpec, 'name'>) {
  const specs = { found: spec };
  return servedSpecs(specs, completeTensorSpecs(specs, kind, WHERE), kind, WHERE);
}

describe('servedSpecs', () => {
  it('keeps the form of the boxes of an output', () => {
    for (const boxes of ['xyxy', 'xywh', 'cxcywh'] as const) {
      expect(served('output', { dtype: 'float32', shape: [-1, 6], boxes })).toMatchObject([{ name: 'found', boxes }]);
    }
    expect(served('output', { dtype: 'int32', shape: [-1], boxes: 'xywh' })).toMatchObject([{ boxes: 'xywh' }]);
  });

  it.each([
    ['output', { dtype: 'float32', shape: [-1, 4], boxes: 'xy' }, /must be 'xyxy', 'xywh' or 'cxcywh', got "xy"/],
    ['input', { dtype: 'float32', shape: [-1, 4], boxes: 'xyxy' }, /only outputs have boxes, but input 'found'/],
    ['output', { dtype: 'string', shape: [-1, 4], boxes: 'xyxy' }, /are numbers, which string is not/],
    ['output', { dtype: 'bool', shape: [-1, 4], boxes: 'xyxy' }, /are numbers, which bool is not/],
    [
      'output',
      { dtype: 'float32', shape: [4, 3], boxes: 'xyxy' },
      /need rows of 4 values at least, got the shape \[4,3\]/,
    ],
    ['output', { dtype: 'float32', shape: [], boxes: 'xyxy' }, /need rows of 4 values at least, got the shape \[\]/],
  ] as const)('refuses boxes of an %s like %o', (kind, spec, message) => {
    expect(() => served(kind, spec as unknown as TensorSpec)).toThrow(message);
  });
});
