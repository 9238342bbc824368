// ModelInfer: bytes to a request, the core, the response to bytes.

import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import type { DecodedInferRequest } from '../../protocol/grpc/decode-model-infer-request.js';
import { encodeModelInferResponse } from '../../protocol/grpc/encode-model-infer-response.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { answerInForm, readInferRequest, type InferMethodOptions } from './infer-requests.js';
import type { UnaryAnswer, UnaryMethod } from './unary-call.js';

export function modelInferMethod(options: InferMethodOptions, compression: CompressionLevel): UnaryMethod {
  const { server, forwarding } = options;
  let config: CompleteModelConfig | undefined;
  const admit = (modelName: string, modelVersion: string): void => {
    config = server.modelConfig(modelName, modelVersion);
    if (config.decoupled) {
      throw new TritonError('UNSUPPORTED', `ModelInfer RPC doesn't support models with decoupled transaction policy`);
    }
  };
  return {
    waits: true,
    compression,
    serve(message, answer, call) {
      const decoded = readInferRequest(message, call, { forwarding, admit });
      return server.infer(decoded.request, new AnswerSink(answer, decoded, config!));
    },
  };
}

/** Encodes what the core responds. */
class AnswerSink implements ResponseSink {
  readonly #answer: UnaryAnswer;
  readonly #decoded: DecodedInferRequest;
  readonly #config: CompleteModelConfig;

  constructor(answer: UnaryAnswer, decoded: DecodedInferRequest, config: CompleteModelConfig) {
    this.#answer = answer;
    this.#decoded = decoded;
    this.#config = config;
  }

  respond(response: ModelInferResponse): void {
    let frame: readonly Uint8Array[];
    try {
      frame = encodeModelInferResponse(answerInForm(response, this.#decoded, this.#config));
    } catch (error) {
      this.#answer.fail(TritonError.from(error));
      return;
    }
    this.#answer.succeed(frame);
  }

  complete(): void {
    this.#answer.fail(
      new TritonError('INTERNAL', 'this is a bug in TSTriton: an ordinary model ended without an answer'),
    );
  }

  fail(error: TritonError): void {
    this.#answer.fail(error);
  }
}
