import { describe, expect, it } from 'vitest';
import type { InferTensor } from '../../model/exchange.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import type { Datatype } from '../../tensor/dtype.js';
import { decodeOutputs } from './decode-outputs.js';

const MODEL: ModelSignature = {
  name: 'M',
  inputs: [],
  outputs: [{ name: 'y', dtype: 'float32', datatype: 'FP32', shape: [-1], optional: false }],
  maxBatchSize: 4,
  decoupled: false,
};

function output(name: string, datatype: Datatype, shape: readonly number[], bytes: readonly number[]): InferTensor {
  return { name, datatype, shape, bytes: Uint8Array.from(bytes) };
}

describe('decodeOutputs', () => {
  it('keeps the batch axis of a batch and removes that of a sample', () => {
    const y = output('y', 'FP32', [1, 1], [0, 0, 128, 63]);
    expect(decodeOutputs([y], MODEL, 'batch')['y']).toMatchObject({ data: Float32Array.of(1), shape: [1, 1] });
    expect(decodeOutputs([y], MODEL, 'sample')['y']).toMatchObject({ data: Float32Array.of(1), shape: [1] });
    expect(decodeOutputs([y], { ...MODEL, maxBatchSize: 0 }, 'sample')['y']).toMatchObject({ shape: [1, 1] });
  });

  it('makes an own property of any name', () => {
    const outputs = decodeOutputs([output('__proto__', 'UINT8', [1], [7])], MODEL, 'batch');
    expect(Object.keys(outputs)).toEqual(['__proto__']);
  });

  it.each<[string, InferTensor, string, string]>([
    [
      'too few bytes',
      output('y', 'FP32', [1, 1], [0, 0]),
      'INTERNAL',
      "output 'y' of model 'M' with shape [1,1] has 2 bytes of FP32, expected 4",
    ],
    ['too many bytes', output('z', 'UINT8', [1], [0, 0]), 'INTERNAL', 'has 2 bytes of UINT8, expected 1'],
    ['half an element', output('z', 'BYTES', [1], [2, 0, 0, 0, 1]), 'INTERNAL', 'ends inside an element'],
    ['half a length', output('z', 'BYTES', [1], [2, 0]), 'INTERNAL', 'ends inside an element'],
    ['too few elements', output('z', 'BYTES', [1, 2], [1, 0, 0, 0, 1]), 'INTERNAL', 'has 1 elements, expected 2'],
    [
      'another datatype',
      output('y', 'UINT8', [1], [1]),
      'INVALID_ARG',
      "output 'y' of model 'M' has datatype UINT8, but it is declared as FP32",
    ],
    [
      'two rows for a sample',
      output('z', 'UINT8', [2, 1], [1, 2]),
      'INTERNAL',
      'has shape [2,1] for one sample, expected 1 row',
    ],
    ['no rows for a sample', output('z', 'UINT8', [], [1]), 'INTERNAL', 'has shape [] for one sample, expected 1 row'],
  ])('refuses %s', (_, tensor, code, message) => {
    expect(() => decodeOutputs([tensor], MODEL, 'sample')).toThrow(message);
    expect(() => decodeOutputs([tensor], MODEL, 'sample')).toThrow(expect.objectContaining({ code }));
  });
});
