// A unary method whose messages are made from protobuf descriptors.

import { create, toBinary, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';

import { TritonError } from '../../errors.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import type { Later } from '../served-core.js';
import type { UnaryMethod } from './unary-call.js';

/** `answer` is not undone when the client leaves. */
export function describedMethod<Request, Response extends DescMessage>(
  decode: (message: Buffer) => Request,
  schema: Response,
  answer: (request: Request) => Later<MessageInitShape<Response>>,
): UnaryMethod {
  return {
    waits: false,
    serve(message, caller) {
      const succeed = (response: MessageInitShape<Response>) =>
        caller.succeed([frameMessage(toBinary(schema, create(schema, response)))]);
      const answered = answer(decode(message));
      if (!(answered instanceof Promise)) succeed(answered);
      else answered.then(succeed).catch((error: unknown) => caller.fail(TritonError.from(error)));
      return undefined;
    },
  };
}
