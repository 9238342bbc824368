// A unary method whose request and answer are messages of proto/, and no inference.

import { TritonError } from '../../errors.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import { type OutputOf, outputType, type UnaryName } from '../../protocol/grpc/service-methods.js';
import type { Init } from '../../protocol/protobuf/values.js';
import { writeMessage } from '../../protocol/protobuf/write-message.js';
import type { Later } from '../served-core.js';
import type { UnaryMethod } from './unary-call.js';

/** `answer` is not undone when the client leaves. */
export function describedMethod<Name extends UnaryName, Request>(
  name: Name,
  decode: (message: Buffer) => Request,
  answer: (request: Request) => Later<Init<OutputOf<Name>>>,
): UnaryMethod {
  const type = outputType(name);
  return {
    waits: false,
    serve(message, caller) {
      const succeed = (response: Init<OutputOf<Name>>) => caller.succeed([frameMessage(writeMessage(type, response))]);
      const answered = answer(decode(message));
      if (answered instanceof Promise)
        answered.then(succeed).catch((error: unknown) => caller.fail(TritonError.from(error)));
      else succeed(answered);
      return undefined;
    },
  };
}
