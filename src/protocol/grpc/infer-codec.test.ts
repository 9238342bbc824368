// Both codecs of both messages against the generated ones, which know the protocol from the .proto files alone.

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finishPaced } from '../../pacing/paced-work.js';

import { TritonError } from '../../errors.js';
import type { InferTensor, ModelInferRequest, ModelInferResponse } from '../../model/exchange.js';
import { DATATYPE_BYTE_SIZE, type Datatype } from '../../tensor/dtype.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { NO_SHARED_MEMORY } from '../../../test/support/no-shared-memory.js';
import { decodeInferRequest } from './decode-infer-request.js';
import { decodeInferResponse } from './decode-infer-response.js';
import { encodeInferRequest } from './encode-infer-request.js';
import { encodeInferResponse } from './encode-infer-response.js';
import {
  InferParameterSchema,
  ModelInferRequestSchema,
  ModelInferResponseSchema,
} from '../../../test/support/generated/grpc_service_pb.js';

const DATATYPES = Object.keys(DATATYPE_BYTE_SIZE) as Datatype[];

function messageOf(frame: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(frame);
  expect(bytes[0]).toBe(0);
  expect(bytes.readUInt32BE(1)).toBe(bytes.length - 5);
  return bytes.subarray(5);
}

const text = fc.oneof(fc.string({ maxLength: 60 }), fc.string({ unit: 'grapheme', maxLength: 200 }));
const tensor: fc.Arbitrary<InferTensor> = fc.record({
  name: text,
  datatype: fc.constantFrom(...DATATYPES),
  shape: fc.array(fc.oneof(fc.nat(300), fc.maxSafeInteger()), { maxLength: 20 }),
  bytes: fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.integer({ min: 8000, max: 9000 }).map((length) => new Uint8Array(length).fill(length)),
  ),
});
// Whole doubles come back as integers, NaN as NaN; a bigint only beyond 2^53.
const parameter = fc.oneof(
  text,
  fc.boolean(),
  fc.maxSafeInteger().map((value) => value + 0),
  fc.double().map((value) => (Object.is(value, -0) ? 0 : value)),
  fc.bigInt(2n ** 53n, 2n ** 63n - 1n),
  fc.bigInt(-(2n ** 63n), -(2n ** 53n)),
);
const name = text.filter((key) => !key.startsWith('triton_') && key !== '__proto__');
const parameters = fc
  .dictionary(name, parameter, { maxKeys: 4, noNullPrototype: true })
  .map((record) => (Object.keys(record).length === 0 ? undefined : record));

const request: fc.Arbitrary<ModelInferRequest> = fc.record({
  modelName: text,
  modelVersion: text,
  id: text,
  parameters,
  inputs: fc.array(tensor, { maxLength: 4 }),
  outputs: fc.array(text, { maxLength: 3 }),
  priority: fc.oneof(fc.constant(0), fc.maxSafeInteger().map(Math.abs)),
  timeoutMicroseconds: fc.oneof(fc.constant(0), fc.maxSafeInteger().map(Math.abs)),
});

const response: fc.Arbitrary<ModelInferResponse> = fc.record({
  modelName: text,
  modelVersion: text,
  id: text,
  parameters,
  outputs: fc.array(tensor, { maxLength: 4 }),
});

const plain = (exchange: ModelInferRequest | ModelInferResponse, tensors: readonly InferTensor[]) => ({
  ...exchange,
  tensors: tensors.map((each) => ({ ...each, bytes: Buffer.from(each.bytes).toString('latin1') })),
  inputs: undefined,
  outputs: 'inputs' in exchange ? exchange.outputs : undefined,
});

function decodeWhole(bytes: Uint8Array): ModelInferRequest {
  const form = finishPaced(decodeInferRequest(bytes));
  return finishPaced(form.complete({} as CompleteModelConfig, NO_SHARED_MEMORY)).request;
}

const SHARED = { numRuns: 300 };

describe('ModelInferRequest', () => {
  it('comes back from its own codec', () => {
    fc.assert(
      fc.property(request, (given) => {
        const decoded = decodeWhole(messageOf(encodeInferRequest(given)));
        expect(plain(decoded, decoded.inputs)).toEqual(plain(given, given.inputs));
      }),
      SHARED,
    );
  });

  it('reads the same for the generated codec', () => {
    fc.assert(
      fc.property(request, (given) => {
        const bytes = messageOf(encodeInferRequest(given));
        const generated = fromBinary(ModelInferRequestSchema, bytes);
        expect(generated.$unknown).toBeUndefined();
        expect(generated.inputs.map((input) => input.name)).toEqual(given.inputs.map((input) => input.name));
        expect(generated.inputs.map((input) => input.shape.map(Number))).toEqual(
          given.inputs.map((input) => input.shape),
        );
        expect(generated.outputs.map((output) => output.name)).toEqual(given.outputs);
        // What the generated codec writes again is the same request to ours.
        const again = decodeWhole(toBinary(ModelInferRequestSchema, generated));
        expect(plain(again, again.inputs)).toEqual(plain(given, given.inputs));
      }),
      SHARED,
    );
  });

  it('is a message or a TritonError, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(isMessageOrError(() => decodeWhole(bytes))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('is a message or a TritonError, however a good one is spoilt', () => {
    const spoilt = fc.tuple(
      request,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      fc.nat(20),
    );
    fc.assert(
      fc.property(spoilt, ([given, changes, cut]) => {
        const bytes = Buffer.from(messageOf(encodeInferRequest({ ...given, inputs: given.inputs.slice(0, 2) })));
        for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
        const message = bytes.subarray(0, Math.max(0, bytes.length - cut));
        expect(isMessageOrError(() => decodeWhole(message))).toBe(true);
        expect(isMessageOrError(() => decodeInferResponse(message))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('ModelInferResponse', () => {
  it('comes back from its own codec', () => {
    fc.assert(
      fc.property(response, (given) => {
        const decoded = decodeInferResponse(messageOf(encodeInferResponse(given)));
        expect(plain(decoded, decoded.outputs)).toEqual(plain(given, given.outputs));
      }),
      SHARED,
    );
  });

  it('is written exactly as the generated codec writes it', () => {
    fc.assert(
      // Without parameters: the generated codec orders integer-like names first.
      fc.property(
        response.map((given) => ({ ...given, parameters: undefined })),
        (given) => {
          const bytes = messageOf(encodeInferResponse(given));
          const generated = fromBinary(ModelInferResponseSchema, bytes);
          expect(generated.rawOutputContents).toHaveLength(given.outputs.length);
          expect(generated.$unknown).toBeUndefined();
          expect(Buffer.from(toBinary(ModelInferResponseSchema, generated)).equals(bytes)).toBe(true);
        },
      ),
      SHARED,
    );
  });

  it('sends large tensors as chunks of their own and one raw entry for each output', () => {
    const large = new Uint8Array(1 << 20);
    const outputs: InferTensor[] = [
      { name: 'a', datatype: 'BYTES', shape: [0], bytes: new Uint8Array(0) },
      { name: 'b', datatype: 'UINT8', shape: [1 << 20], bytes: large },
    ];
    const frame = encodeInferResponse({
      modelName: 'm',
      modelVersion: '1',
      id: '',
      parameters: undefined,
      outputs,
    });
    expect(frame.some((chunk) => chunk === large)).toBe(true);
    expect(frame.length).toBe(2);
    expect(fromBinary(ModelInferResponseSchema, messageOf(frame)).rawOutputContents.map((raw) => raw.length)).toEqual([
      0,
      1 << 20,
    ]);
  });

  it('writes an unsigned parameter that no int64 holds, and refuses a larger one', () => {
    const empty = { modelName: 'm', modelVersion: '1', id: '', outputs: [] };
    const frame = encodeInferResponse({ ...empty, parameters: { big: 2n ** 64n - 1n } });
    expect(decodeInferResponse(messageOf(frame)).parameters).toEqual({ big: 2n ** 64n - 1n });
    expect(() => encodeInferResponse({ ...empty, parameters: { big: 2n ** 64n } })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: "parameter 'big' is 18446744073709551616, expected an integer of 64 bits",
      }),
    );
    expect(() => encodeInferResponse({ ...empty, parameters: { bad: {} as string } })).toThrow(
      "parameter 'bad' is of type object",
    );
  });

  it('keeps the kinds of parameters: integers, doubles, minus zero', () => {
    const given = { i: 5, d: 0.5, z: -0, n: NaN };
    const frame = encodeInferResponse({ modelName: '', modelVersion: '', id: '', parameters: given, outputs: [] });
    const { parameters: kinds } = fromBinary(ModelInferResponseSchema, messageOf(frame));
    expect(Object.values(kinds).map((kind) => kind.parameterChoice.case)).toEqual([
      'int64Param',
      'doubleParam',
      'doubleParam',
      'doubleParam',
    ]);
  });
});

describe('a response of another server', () => {
  const decode = (init: Parameters<typeof create<typeof ModelInferResponseSchema>>[1]) =>
    decodeInferResponse(toBinary(ModelInferResponseSchema, create(ModelInferResponseSchema, init)));

  it('may have typed contents', () => {
    const outputs = [
      { name: 'y', datatype: 'INT16', shape: [2n], contents: { intContents: [1, -1] } },
      { name: 'z', datatype: 'BYTES', shape: [1n], contents: { bytesContents: [Buffer.from('ok')] } },
    ];
    expect(decode({ outputs }).outputs.map(({ bytes }) => [...bytes])).toEqual([
      [1, 0, 255, 255],
      [2, 0, 0, 0, 111, 107],
    ]);
  });

  it.each([
    [
      'no data',
      { name: 'y', datatype: 'FP32', shape: [1n] },
      "output 'y' of the response has no data: expected an entry of raw_output_contents",
    ],
    [
      'an unknown datatype',
      { name: 'y', datatype: 'FLOAT', shape: [1n] },
      "output 'y' of the response has unknown datatype 'FLOAT'",
    ],
    [
      'contents of another datatype',
      { name: 'y', datatype: 'FP32', shape: [1n], contents: { intContents: [1] } },
      "unexpected explicit tensor data for output tensor 'y' of type 'INT32', expected datatype 'FP32'",
    ],
  ])('is refused with %s', (_, output, message) => {
    expect(() => decode({ outputs: [output] })).toThrow(expect.objectContaining({ code: 'INTERNAL', message }));
  });

  it('may have shapes that are not packed', () => {
    const output = Buffer.from([10, 1, 121, 18, 4, 66, 79, 79, 76, 24, 1, 24, 2]); // y, BOOL, 1, 2
    const message = Buffer.concat([Buffer.from([42, output.length]), output, Buffer.from([50, 2, 1, 0])]);
    expect(decodeInferResponse(message).outputs).toEqual([
      { name: 'y', datatype: 'BOOL', shape: [1, 2], bytes: Buffer.from([1, 0]) },
    ]);
  });

  it('is refused when it is no message', () => {
    expect(() => decodeInferResponse(Uint8Array.of(0xff))).toThrow(
      expect.objectContaining({ code: 'INTERNAL', message: 'Unable to parse response' }),
    );
  });

  it('gives parameters of every kind, those without a value left out', () => {
    const choice = (parameterChoice: Parameters<typeof create<typeof InferParameterSchema>>[1] & object) =>
      create(InferParameterSchema, parameterChoice);
    const parameters3 = {
      b: choice({ parameterChoice: { case: 'boolParam', value: true } }),
      u: choice({ parameterChoice: { case: 'uint64Param', value: 2n ** 63n } }),
      none: choice({}),
    };
    expect(decode({ parameters: parameters3 }).parameters).toEqual({ b: true, u: 2n ** 63n });
  });
});

/** What a decoder throws; undefined when it decodes. */
function thrownBy(decode: () => unknown): unknown {
  try {
    decode();
    return undefined;
  } catch (error) {
    return error;
  }
}

function isMessageOrError(decode: () => unknown): boolean {
  const thrown = thrownBy(decode);
  return thrown === undefined || TritonError.is(thrown);
}
