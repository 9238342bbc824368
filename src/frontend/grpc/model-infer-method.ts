// ModelInfer: bytes to a request, the core, the response to bytes.

import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { encodeModelInferResponse } from '../../protocol/grpc/encode-model-infer-response.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { readInferRequest, type IncomingRequest, type InferMethodOptions } from './infer-requests.js';
import type { UnaryAnswer, UnaryMethod } from './unary-call.js';

export function modelInferMethod(options: InferMethodOptions, compression: CompressionLevel): UnaryMethod {
  const { server } = options;
  const find = (modelName: string, modelVersion: string): CompleteModelConfig => {
    const config = server.modelConfig(modelName, modelVersion);
    if (config.decoupled) {
      throw new TritonError('UNSUPPORTED', `ModelInfer RPC doesn't support models with decoupled transaction policy`);
    }
    return config;
  };
  const reading = { ...options, find };
  return {
    waits: true,
    compression,
    serve(message, answer, call) {
      const incoming = readInferRequest(message, call, reading);
      return server.infer(incoming.request, new AnswerSink(answer, incoming));
    },
  };
}

/** Encodes what the core responds. */
class AnswerSink implements ResponseSink {
  readonly #answer: UnaryAnswer;
  readonly #incoming: IncomingRequest;

  constructor(answer: UnaryAnswer, incoming: IncomingRequest) {
    this.#answer = answer;
    this.#incoming = incoming;
  }

  respond(response: ModelInferResponse): void {
    let frame: readonly Uint8Array[];
    try {
      frame = encodeModelInferResponse(this.#incoming.answer(response));
    } catch (error) {
      this.fail(TritonError.from(error));
      return;
    }
    this.#incoming.release();
    this.#answer.succeed(frame);
  }

  complete(): void {
    this.fail(new TritonError('INTERNAL', 'this is a bug in TSTriton: an ordinary model ended without an answer'));
  }

  fail(error: TritonError): void {
    this.#incoming.release();
    this.#answer.fail(error);
  }
}
