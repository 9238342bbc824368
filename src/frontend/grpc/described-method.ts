// A unary method whose answers are made from protobuf descriptors.

import { create, toBinary, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';

import { TritonError } from '../../errors.js';
import { GRPCInferenceService } from '../../protocol/grpc/generated/grpc_service_pb.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import type { Later } from '../served-core.js';
import type { UnaryMethod } from './unary-call.js';

export type Methods = typeof GRPCInferenceService.method;
export type UnaryName = Exclude<keyof Methods, 'modelStreamInfer'>;

/** `answer` is not undone when the client leaves. */
export function describedMethod<Name extends UnaryName, Request>(
  name: Name,
  decode: (message: Buffer) => Request,
  answer: (request: Request) => Later<MessageInitShape<Methods[Name]['output']>>,
): UnaryMethod {
  const schema: DescMessage = GRPCInferenceService.method[name].output;
  return {
    waits: false,
    serve(message, caller) {
      const succeed = (response: MessageInitShape<DescMessage>) =>
        caller.succeed([frameMessage(toBinary(schema, create(schema, response)))]);
      const answered = answer(decode(message));
      if (answered instanceof Promise)
        answered.then(succeed).catch((error: unknown) => caller.fail(TritonError.from(error)));
      else succeed(answered);
      return undefined;
    },
  };
}
