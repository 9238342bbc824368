// ModelInfer: bytes to a request, the core, the response to bytes.

import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { applicationMetadata } from '../../protocol/grpc/application-metadata.js';
import {
  type CompleteInferRequest,
  decodeInferRequest,
  type InferRequestMessage,
} from '../../protocol/grpc/decode-infer-request.js';
import { encodeInferResponse } from '../../protocol/grpc/encode-infer-response.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { completeRequest, type InferOptions, type RequestRules } from '../complete-request.js';
import { type AnswerWriter, Inference, type Stages } from '../inference.js';
import type { UnaryAnswer, UnaryMethod } from './unary-call.js';

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
    serve(message, answer, call) {
      const inference = new Inference<CompleteInferRequest>(server, new FrameWriter(answer));
      inference.begin(completeRequest(decodeInferRequest(message), call, rules));
      return inference;
    },
  };
}

class FrameWriter implements AnswerWriter<CompleteInferRequest> {
  readonly #answer: UnaryAnswer;

  constructor(answer: UnaryAnswer) {
    this.#answer = answer;
  }

  write(response: ModelInferResponse, _: CompleteInferRequest, stages: Stages): void {
    const frame = encodeInferResponse(response);
    stages.end();
    this.#answer.succeed(frame, response.memory);
  }

  fail(error: TritonError): void {
    this.#answer.fail(error);
  }
}
