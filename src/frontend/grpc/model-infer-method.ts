// ModelInfer: bytes to a request, the core, the response to bytes.

import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { startPaced, type PacedWork } from '../../model/paced-work.js';
import { encodeModelInferResponse } from '../../protocol/grpc/encode-model-infer-response.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { Stages } from '../stages.js';
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
      const stages = new Stages();
      stages.begin(() =>
        startPaced(readInferRequest(message, call, reading), {
          done(incoming) {
            stages.begin(() => server.infer(incoming.request, new AnswerSink(answer, incoming, stages)));
          },
          failed: (error) => answer.fail(TritonError.from(error)),
        }),
      );
      return stages;
    },
  };
}

/** Encodes what the core responds. */
class AnswerSink implements ResponseSink {
  readonly #answer: UnaryAnswer;
  readonly #incoming: IncomingRequest;
  readonly #stages: Stages;

  constructor(answer: UnaryAnswer, incoming: IncomingRequest, stages: Stages) {
    this.#answer = answer;
    this.#incoming = incoming;
    this.#stages = stages;
  }

  respond(response: ModelInferResponse): void {
    this.#stages.begin(() =>
      startPaced(this.#encode(response), {
        done: (frame) => this.#answer.succeed(frame),
        failed: (error) => this.#answer.fail(TritonError.from(error)),
      }),
    );
  }

  *#encode(response: ModelInferResponse): PacedWork<readonly Uint8Array[]> {
    try {
      return encodeModelInferResponse(yield* this.#incoming.answer(response));
    } finally {
      this.#incoming.release();
    }
  }

  complete(): void {
    this.fail(new TritonError('INTERNAL', 'this is a bug in TSTriton: an ordinary model ended without an answer'));
  }

  fail(error: TritonError): void {
    this.#incoming.release();
    this.#answer.fail(error);
  }
}
