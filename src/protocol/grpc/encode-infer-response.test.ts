// Messages of streams, held against the generated reader of the protocol.

import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import type { ModelInferResponse } from '../../model/exchange.js';
import { encodeInferRequest } from './encode-infer-request.js';
import { TritonError } from '../../errors.js';
import { encodeStreamError, encodeStreamResponse } from './encode-infer-response.js';
import { ModelStreamInferResponseSchema } from '../../../test/support/generated/grpc_service_pb.js';

function responseOf(sizes: readonly number[], id = 'r'): ModelInferResponse {
  return {
    modelName: 'm',
    modelVersion: '1',
    id,
    parameters: { p: 1 },
    outputs: sizes.map((size, index) => ({
      name: `y${index}`,
      datatype: 'UINT8',
      shape: [size],
      bytes: new Uint8Array(size).fill(index + 1),
    })),
  };
}

function decode(frame: readonly Uint8Array[]) {
  const bytes = Buffer.concat(frame);
  expect([bytes[0], bytes.readUInt32BE(1)]).toEqual([0, bytes.length - 5]);
  const message = fromBinary(ModelStreamInferResponseSchema, bytes.subarray(5));
  // Nothing is longer than it need be.
  expect(toBinary(ModelStreamInferResponseSchema, message).length).toBe(bytes.length - 5);
  return message;
}

describe('a response on a stream', () => {
  // Lengths around those where another byte is needed for them, and tensors that are chunks of their own.
  it.each([0, 1, 40, 41, 42, 43, 44, 45, 46, 127, 128, 8191, 8192, 8193, 16_300, 16_383, 16_384, 2_097_152])(
    'with %i bytes of data is whole',
    (size) => {
      const { errorMessage, inferResponse } = decode(encodeStreamResponse(responseOf([size]), false));
      expect(errorMessage).toBe('');
      expect(inferResponse).toMatchObject({ modelName: 'm', modelVersion: '1', id: 'r' });
      expect(inferResponse!.rawOutputContents.map(({ length }) => length)).toEqual([size]);
    },
  );

  it('has its outputs in order, large and small', () => {
    const { inferResponse } = decode(encodeStreamResponse(responseOf([10, 100_000, 0, 9000, 3]), true));
    expect(inferResponse!.rawOutputContents.map((bytes) => [bytes.length, bytes[0]])).toEqual([
      [10, 1],
      [100_000, 2],
      [0, undefined],
      [9000, 4],
      [3, 5],
    ]);
  });

  it('keeps what was encoded before it', () => {
    const frames = Array.from({ length: 300 }, (_, i) => encodeStreamResponse(responseOf([i], `r${i}`), i % 2 === 0));
    for (const [i, frame] of frames.entries()) {
      const { inferResponse } = decode(frame);
      expect([inferResponse!.id, inferResponse!.rawOutputContents[0]!.length]).toEqual([`r${i}`, i]);
    }
  });

  it.each([true, false])('says whether it is the last, beside its parameters: %s', (final) => {
    const { parameters } = decode(encodeStreamResponse(responseOf([1]), final)).inferResponse!;
    expect(parameters['p']?.parameterChoice).toEqual({ case: 'int64Param', value: 1n });
    expect(parameters['triton_final_response']?.parameterChoice).toEqual({ case: 'boolParam', value: final });
  });
});

describe('an error on a stream', () => {
  const failure = (text: string) => new TritonError('INTERNAL', text);

  it('has the id of a refused request and nothing else', () => {
    const { errorMessage, inferResponse } = decode(
      encodeStreamError(failure('nö'), { id: 'é', model: undefined, wantsCode: false }),
    );
    expect(errorMessage).toBe('nö');
    expect(inferResponse).toMatchObject({ id: 'é', modelName: '', modelVersion: '', parameters: {} });
    expect(
      decode(encodeStreamError(failure('no'), { id: '', model: undefined, wantsCode: false })).inferResponse,
    ).toBeDefined();
  });

  it('has a text in any case, because clients take an error without one for an answer', () => {
    const { errorMessage } = decode(encodeStreamError(failure(''), { id: 'i', model: undefined, wantsCode: false }));
    expect(errorMessage).toBe('the request failed without a message');
  });

  it('has the model of one that failed, and is the last', () => {
    const text = 'long '.repeat(1000);
    const failed = { id: 'i', model: { name: 'm'.repeat(200), version: '7' }, wantsCode: false };
    const { errorMessage, inferResponse } = decode(encodeStreamError(failure(text), failed));
    expect(errorMessage).toBe(text);
    expect(inferResponse).toMatchObject({ id: 'i', modelName: 'm'.repeat(200), modelVersion: '7' });
    expect(inferResponse!.parameters['triton_final_response']?.parameterChoice.value).toBe(true);
  });

  it.each([undefined, { name: 'm', version: '7' }])('has its code for a client that wants it: model %j', (model) => {
    const { inferResponse } = decode(encodeStreamError(failure('no'), { id: 'i', model, wantsCode: true }));
    expect(inferResponse!.parameters['tstriton_error_code']?.parameterChoice).toEqual({
      case: 'stringParam',
      value: 'INTERNAL',
    });
    expect('triton_final_response' in inferResponse!.parameters).toBe(model !== undefined);
  });
});

it('a request that is too large is called a request', () => {
  // Never read: 3 GB that are not there.
  const bytes = { byteLength: 3 * 2 ** 30 } as Uint8Array;
  const request = {
    modelName: 'm',
    modelVersion: '',
    id: '',
    parameters: undefined,
    inputs: [{ name: 'x', datatype: 'UINT8', shape: [1], bytes } as const],
    outputs: [],
    priority: 0,
    timeoutMicroseconds: 0,
  };
  expect(() => encodeInferRequest(request)).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARG',
      message: expect.stringMatching(
        /^Request has byte size 32212\d+ which exceeds gRPC's byte size limit 2147483647\.$/,
      ),
    }),
  );
});
