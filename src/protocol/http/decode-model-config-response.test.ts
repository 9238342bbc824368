import { describe, expect, it } from 'vitest';
import { decodeModelConfigResponse } from './decode-model-config-response.js';

function decode(json: object) {
  return decodeModelConfigResponse(Buffer.from(JSON.stringify(json)));
}

const X = { name: 'x', data_type: 'TYPE_FP32', format: 'FORMAT_NONE', dims: [-1, 3], optional: false };

describe('decodeModelConfigResponse', () => {
  it('reads names, datatypes, dimensions and the largest batch size', () => {
    const config = {
      name: 'M',
      backend: 'python',
      max_batch_size: 8,
      input: [X, { name: 's', data_type: 'TYPE_STRING', dims: ['1'], optional: true }],
      output: [{ name: 'y', data_type: 'TYPE_BF16', dims: [] }],
    };
    expect(decode(config)).toEqual({
      name: 'M',
      maxBatchSize: 8,
      decoupled: false,
      inputs: [
        { name: 'x', datatype: 'FP32', dtype: 'float32', shape: [-1, 3], optional: false },
        { name: 's', datatype: 'BYTES', dtype: 'bytes', shape: [1], optional: true },
      ],
      outputs: [{ name: 'y', datatype: 'BF16', dtype: 'bfloat16', shape: [], optional: false }],
    });
  });

  it('takes what is missing for the default', () => {
    expect(decode({ name: 'M' })).toEqual({ name: 'M', maxBatchSize: 0, decoupled: false, inputs: [], outputs: [] });
  });

  it.each<[string, object, string]>([
    [
      'an unknown data_type',
      { name: 'M', input: [{ ...X, data_type: 'FP32' }] },
      "unknown data_type 'FP32' in the model configuration",
    ],
    [
      'an invalid data_type',
      { name: 'M', input: [{ ...X, data_type: 'TYPE_INVALID' }] },
      "unknown data_type 'TYPE_INVALID'",
    ],
    ['a dimension below -1', { name: 'M', input: [{ ...X, dims: [-2] }] }, "Unable to parse 'dims'"],
    ['a dimension that is no number', { name: 'M', output: [{ ...X, dims: ['x'] }] }, "Unable to parse 'dims'"],
    ['a dimension without digits', { name: 'M', output: [{ ...X, dims: [''] }] }, "Unable to parse 'dims'"],
    ['a dimension in white space', { name: 'M', output: [{ ...X, dims: ['\xa01'] }] }, "Unable to parse 'dims'"],
    ['a batch size that is none', { name: 'M', max_batch_size: -1 }, "Unable to parse 'max_batch_size'"],
    ['no name', {}, "Unable to parse 'name'"],
  ])('refuses %s with INTERNAL', (_, json, message) => {
    expect(() => decode(json)).toThrow(`malformed response of the server: ${message}`);
    expect(() => decode(json)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });
});
