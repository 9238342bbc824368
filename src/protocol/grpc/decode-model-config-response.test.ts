import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { decodeModelConfigResponse } from './decode-model-config-response.js';
import { decodeModelReference } from './decode-model-reference.js';
import { frameRequest } from './service-methods.js';
import { ModelConfigResponseSchema } from '../../../test/support/generated/grpc_service_pb.js';
import { DataType } from '../../../test/support/generated/model_config_pb.js';

describe('decodeModelConfigResponse', () => {
  it('reads names, datatypes, dimensions and the largest batch size', () => {
    const message = create(ModelConfigResponseSchema, {
      config: {
        name: 'M',
        maxBatchSize: 8,
        input: [
          { name: 'x', dataType: DataType.TYPE_FP32, dims: [-1n, 3n] },
          { name: 's', dataType: DataType.TYPE_STRING, dims: [1n], optional: true },
        ],
        output: [{ name: 'y', dataType: DataType.TYPE_BF16 }],
      },
    });
    expect(decodeModelConfigResponse(toBinary(ModelConfigResponseSchema, message))).toEqual({
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

  it.each<[string, Uint8Array, string]>([
    ['nothing', new Uint8Array(0), 'it has no model configuration'],
    ['no protobuf', Uint8Array.of(0x0a, 0x7f), 'malformed response of the server'],
    [
      'an invalid datatype',
      toBinary(
        ModelConfigResponseSchema,
        create(ModelConfigResponseSchema, { config: { name: 'M', input: [{ name: 'x' }] } }),
      ),
      "unknown data_type 'TYPE_INVALID' in the model configuration",
    ],
    [
      'a datatype of the future',
      toBinary(
        ModelConfigResponseSchema,
        create(ModelConfigResponseSchema, { config: { output: [{ name: 'x', dataType: 77 as DataType }] } }),
      ),
      "unknown data_type '77' in the model configuration",
    ],
  ])('refuses %s with INTERNAL', (_, bytes, message) => {
    expect(() => decodeModelConfigResponse(bytes)).toThrow(message);
    expect(() => decodeModelConfigResponse(bytes)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });
});

describe('frameRequest', () => {
  it('frames the name and the version', () => {
    const frame = Buffer.from(frameRequest('ModelConfig', { name: 'M', version: '3' }));
    expect(frame[0]).toBe(0);
    expect(frame.readUInt32BE(1)).toBe(frame.length - 5);
    expect(decodeModelReference(frame.subarray(5))).toEqual({ name: 'M', version: '3' });
  });
});
