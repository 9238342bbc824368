// ModelInfer: decodes a request, gives it to the core, and encodes the response.

import { TritonError } from '../../errors.js';
import { applicationMetadata } from '../../protocol/grpc/application-metadata.js';
import {
  type CompleteInferRequest,
  decodeInferRequest,
  type InferRequestMessage,
} from '../../protocol/grpc/decode-infer-request.js';
import { encodeInferResponse } from '../../protocol/grpc/encode-infer-response.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { completeRequest, type InferOptions, type RequestRules } from '../complete-request.js';
import { Inference } from '../inference.js';
import type { UnaryMethod } from './unary-call.js';

export function modelInferMethod(options: InferOptions, compression: CompressionLevel): UnaryMethod {
  const { server } = options;
  const rules: RequestRules<InferRequestMessage> = {
    ...options,
    protocol: 'GRPC',
    texts: applicationMetadata,
    resolve({ modelName, modelVersion }) {
      const model = server.resolve(modelName, modelVersion);
      if (!model.config.decoupled) return model;
      throw new TritonError('UNSUPPORTED', `ModelInfer RPC doesn't support models with decoupled transaction policy`);
    },
  };
  return {
    waits: true,
    compression,
    serve(message, answer, head) {
      const inference = new Inference<CompleteInferRequest>(server, {
        write(response, _, stages) {
          const frame = encodeInferResponse(response);
          stages.end();
          answer.succeed(frame, response.memory);
        },
        fail: (error) => answer.fail(error),
      });
      inference.start(completeRequest(decodeInferRequest(message), head, rules));
      return inference;
    },
  };
}
