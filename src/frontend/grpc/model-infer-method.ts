// ModelInfer: bytes to a request, the core, the response to bytes.

import { TritonError } from '../../errors.js';
import type { PacedWork } from '../../model/paced-work.js';
import { applicationMetadata } from '../../protocol/grpc/application-metadata.js';
import { decodeInferRequest } from '../../protocol/grpc/decode-infer-request.js';
import { encodeInferResponse } from '../../protocol/grpc/encode-infer-response.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { answerOnce } from '../answer-once.js';
import { completeRequest, type IncomingRequest, type InferOptions } from '../complete-request.js';
import type { CallContext, UnaryMethod } from './unary-call.js';

export function modelInferMethod(options: InferOptions, compression: CompressionLevel): UnaryMethod {
  const { server } = options;
  return {
    waits: true,
    compression,
    serve: (message, answer, call) =>
      answerOnce(
        readRequest(message, call, options),
        {
          // eslint-disable-next-line require-yield
          *encode(response) {
            return encodeInferResponse(response);
          },
          succeed: (frame) => answer.succeed(frame),
          fail: (error) => answer.fail(error),
        },
        server,
      ),
  };
}

function* readRequest(message: Buffer, call: CallContext, options: InferOptions): PacedWork<IncomingRequest> {
  const form = yield* decodeInferRequest(message);
  const resolve = () => {
    const model = options.server.resolve(form.modelName, form.modelVersion);
    if (!model.config.decoupled) return model;
    throw new TritonError('UNSUPPORTED', `ModelInfer RPC doesn't support models with decoupled transaction policy`);
  };
  return yield* completeRequest(form, { headers: call, texts: applicationMetadata, resolve }, options);
}
