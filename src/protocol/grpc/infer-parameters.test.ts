import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { InferParameterSchema, ModelInferRequestSchema } from '../../../test/support/generated/grpc_service_pb.js';
import { readParameter, writeParameter, type ParameterMap, type ParameterValue } from './infer-parameters.js';
import { WireReader } from '../protobuf/wire-reader.js';
import { WireWriter } from './wire-writer.js';

const PARAMETERS_TAG = 0x22;

function readAll(message: Uint8Array): ParameterMap {
  const reader = new WireReader('request');
  const parameters: ParameterMap = new Map();
  reader.start(message);
  while (reader.position < reader.limit) {
    expect(reader.tag()).toBe(PARAMETERS_TAG);
    readParameter(reader, parameters);
  }
  return parameters;
}

const KINDS: readonly ParameterValue[] = [
  { kind: 'bool', value: true },
  { kind: 'bool', value: false },
  { kind: 'int64', value: -1 },
  { kind: 'int64', value: -(2n ** 63n) },
  { kind: 'string', value: '' },
  { kind: 'string', value: 'größe' },
  { kind: 'double', value: -0.5 },
  { kind: 'uint64', value: 2n ** 64n - 1n },
  { kind: 'uint64', value: 0 },
  { kind: 'unset' },
];

describe('a parameter', () => {
  it.each(KINDS)('keeps its kind and value: $kind $value', (parameter) => {
    const writer = new WireWriter();
    writer.begin(200);
    writeParameter(writer, PARAMETERS_TAG, 'p', parameter);
    const message = Buffer.concat(writer.finish()).subarray(5);
    expect(readAll(message)).toEqual(new Map([['p', parameter]]));
    const { parameterChoice } = fromBinary(ModelInferRequestSchema, message).parameters['p']!;
    expect(parameterChoice.case).toBe(parameter.kind === 'unset' ? undefined : `${parameter.kind}Param`);
  });

  it('that comes twice counts as it came last', () => {
    const one = (value: bigint) =>
      toBinary(
        ModelInferRequestSchema,
        create(ModelInferRequestSchema, {
          parameters: { p: create(InferParameterSchema, { parameterChoice: { case: 'int64Param', value } }) },
        }),
      );
    expect(readAll(Buffer.concat([one(1n), one(2n)]))).toEqual(new Map([['p', { kind: 'int64', value: 2 }]]));
  });

  it('of an entry without key or value has an empty name and no value', () => {
    expect(readAll(Uint8Array.of(PARAMETERS_TAG, 0))).toEqual(new Map([['', { kind: 'unset' }]]));
  });

  it('whose value comes in two pieces is the last choice in them', () => {
    // key 'p', value { bool_param: true }, value { unknown field }, value { int64_param: 5 }, an unknown field
    const entry = [10, 1, 112, 18, 2, 8, 1, 18, 2, 0x78, 1, 18, 2, 16, 5, 0x78, 1];
    expect(readAll(Uint8Array.of(PARAMETERS_TAG, entry.length, ...entry))).toEqual(
      new Map([['p', { kind: 'int64', value: 5 }]]),
    );
  });
});
