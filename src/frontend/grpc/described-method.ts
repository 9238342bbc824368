// A unary method, not of inference, whose request and answer are messages of proto/.

import type { LoadingClient } from '../../core/client-loads.js';
import { TritonError } from '../../errors.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import { type OutputOf, outputType, type UnaryName } from '../../protocol/grpc/service-methods.js';
import type { Init } from '../../protocol/protobuf/values.js';
import { writeMessage } from '../../protocol/protobuf/write-message.js';
import type { Later } from '../served-core.js';
import type { UnaryMethod } from './unary-call.js';

/** What `answer` has done stays done when the client leaves, which `client` tells it. */
export function describedMethod<Name extends UnaryName, Request>(
  name: Name,
  decode: (message: Buffer) => Request,
  answer: (request: Request, client: LoadingClient) => Later<Init<OutputOf<Name>>>,
): UnaryMethod {
  const type = outputType(name);
  return {
    waits: false,
    serve(message, caller) {
      const succeed = (response: Init<OutputOf<Name>>) => caller.succeed([frameMessage(writeMessage(type, response))]);
      const left = new AbortController();
      const answered = answer(decode(message), { bytes: message.length, left: left.signal });
      if (!(answered instanceof Promise)) {
        succeed(answered);
        return undefined;
      }
      answered.then(succeed).catch((error: unknown) => caller.fail(TritonError.from(error)));
      return { cancel: () => left.abort() };
    },
  };
}
