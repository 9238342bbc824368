import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import type { RequestSequence } from '../../model/request-sequence.js';
import type { ClassifiedRequest } from '../classified-request.js';
import { encodeInferRequest } from './encode-infer-request.js';
import { ModelInferRequestSchema } from '../../../test/support/generated/grpc_service_pb.js';

/** The message as another reader of protobuf sees it. */
function messageOf(more: Partial<ClassifiedRequest>) {
  const chunks = encodeInferRequest({
    modelName: 'm',
    modelVersion: '',
    id: '',
    parameters: undefined,
    priority: 0,
    timeoutMicroseconds: 0,
    inputs: [],
    outputs: [],
    ...more,
  });
  // Behind the five bytes that say how long it is.
  return fromBinary(ModelInferRequestSchema, Buffer.concat(chunks).subarray(5));
}

function parametersOf(more: Partial<ClassifiedRequest>) {
  return Object.fromEntries(
    Object.entries(messageOf(more).parameters).map(([name, { parameterChoice }]) => [
      name,
      [parameterChoice.case, parameterChoice.value],
    ]),
  );
}

describe('encodeInferRequest', () => {
  it.each<[RequestSequence['id'], unknown]>([
    [7, ['int64Param', 7n]],
    [2n ** 63n - 1n, ['int64Param', 2n ** 63n - 1n]],
    // Of 64 bits there is a signed form only, which servers read as the same bits.
    [2n ** 64n - 1n, ['int64Param', -1n]],
    [2n ** 63n, ['int64Param', -(2n ** 63n)]],
    ['größe', ['stringParam', 'größe']],
    ['日'.repeat(40), ['stringParam', '日'.repeat(40)]],
  ])('tells the sequence %s and whether it begins and ends', (id, told) => {
    expect(parametersOf({ sequence: { id, start: true, end: false } })).toEqual({
      sequence_id: told,
      sequence_start: ['boolParam', true],
      sequence_end: ['boolParam', false],
    });
    expect(parametersOf({ sequence: { id, start: false, end: true } })).toMatchObject({
      sequence_start: ['boolParam', false],
      sequence_end: ['boolParam', true],
    });
  });

  it('tells priority and timeout where they are given', () => {
    expect(parametersOf({ priority: 3, timeoutMicroseconds: 5 })).toEqual({
      priority: ['uint64Param', 3n],
      timeout: ['int64Param', 5n],
    });
    expect(parametersOf({})).toEqual({});
  });

  it('asks for classes of the outputs that they are wanted of, whatever the names', () => {
    const long = 'z'.repeat(3000);
    const { outputs } = messageOf({ outputs: ['y', long], classes: new Map([[long, 3]]) });
    expect(outputs.map(({ name, parameters }) => [name, parameters['classification']?.parameterChoice.value])).toEqual([
      ['y', undefined],
      [long, 3n],
    ]);
  });
});
