// ModelInfer: bytes to a request, the core, the response to bytes.

import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { decodeModelInferRequest } from '../../protocol/grpc/decode-model-infer-request.js';
import { encodeModelInferResponse } from '../../protocol/grpc/encode-model-infer-response.js';
import type { ServedCore } from './served-core.js';
import type { UnaryAnswer, UnaryMethod } from './unary-call.js';

export function modelInferMethod(server: Pick<ServedCore, 'modelConfig' | 'infer'>): UnaryMethod {
  const admit = (modelName: string, modelVersion: string): void => {
    if (server.modelConfig(modelName, modelVersion).decoupled) {
      throw new TritonError('UNSUPPORTED', `ModelInfer RPC doesn't support models with decoupled transaction policy`);
    }
  };
  return {
    waits: true,
    serve: (message, answer) => server.infer(decodeModelInferRequest(message, admit), new AnswerSink(answer)),
  };
}

/** Encodes what the core responds. */
class AnswerSink implements ResponseSink {
  readonly #answer: UnaryAnswer;

  constructor(answer: UnaryAnswer) {
    this.#answer = answer;
  }

  respond(response: ModelInferResponse): void {
    let frame: readonly Uint8Array[];
    try {
      frame = encodeModelInferResponse(response);
    } catch (error) {
      this.#answer.fail(TritonError.from(error));
      return;
    }
    this.#answer.succeed(frame);
  }

  complete(): void {
    this.#answer.fail(new TritonError('INTERNAL', 'this is a bug in TSTriton: an ordinary model ended without an answer'));
  }

  fail(error: TritonError): void {
    this.#answer.fail(error);
  }
}
