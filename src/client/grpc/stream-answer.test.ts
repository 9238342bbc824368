import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import {
  ModelInferResponseSchema,
  ModelStreamInferResponseSchema,
} from '../../../test/support/generated/grpc_service_pb.js';
import { TritonTimeoutError } from '../client-errors.js';
import { readOnlyAnswer, readStreamAnswer } from './stream-answer.js';

const encode = (message: MessageInitShape<typeof ModelStreamInferResponseSchema>) =>
  toBinary(ModelStreamInferResponseSchema, create(ModelStreamInferResponseSchema, message));

function failed(errorMessage: string, code?: string) {
  const parameters =
    code === undefined
      ? {}
      : { tstriton_error_code: { parameterChoice: { case: 'stringParam' as const, value: code } } };
  return encode({ errorMessage, inferResponse: { id: 'a', parameters } });
}

it.each([
  ['the code that came with it', failed('busy', 'UNAVAILABLE'), 'UNAVAILABLE'],
  ['UNKNOWN without a code, as from tritonserver', failed('busy'), 'UNKNOWN'],
  ['UNKNOWN for a code that there is not', failed('busy', 'toString'), 'UNKNOWN'],
  [
    'NOT_FOUND for what Triton says of an unknown model',
    failed("Request for unknown model: 'm' is not found"),
    'NOT_FOUND',
  ],
  ['what the text tells beyond the code', failed('This protocol is restricted, …', 'UNAVAILABLE'), 'PERMISSION_DENIED'],
])('an error on a stream has %s', (_, bytes, code) => {
  const { error, response } = readStreamAnswer(bytes);
  expect([error!.code, response.id]).toEqual([code, 'a']);
  expect(() => readOnlyAnswer(bytes, true)).toThrow(error!.message);
});

it('an error on a stream is the timeout that it would be for a call', () => {
  expect(readStreamAnswer(failed('too late', 'DEADLINE_EXCEEDED')).error).toBeInstanceOf(TritonTimeoutError);
});

it('a message that only ends the answers is none', () => {
  const parameters = { triton_final_response: { parameterChoice: { case: 'boolParam' as const, value: true } } };
  expect(readOnlyAnswer(encode({ inferResponse: { parameters } }), true)).toBeUndefined();
});

it('MLServer streams responses without the message around them', () => {
  const output = { name: 'y', datatype: 'FP32', shape: [1n] };
  const response = { modelName: 'add', id: 'a', outputs: [output], rawOutputContents: [new Uint8Array(4)] };
  const bytes = toBinary(ModelInferResponseSchema, create(ModelInferResponseSchema, response));
  expect(readOnlyAnswer(bytes, true)).toMatchObject({
    modelName: 'add',
    id: 'a',
    outputs: [{ name: 'y', shape: [1] }],
  });
});
