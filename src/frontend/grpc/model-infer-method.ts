// ModelInfer: bytes to a request, the core, the response to bytes.

import type { InflightRequest, ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { startPaced, type PacedEnd, type PacedWork } from '../../model/paced-work.js';
import { encodeModelInferResponse } from '../../protocol/grpc/encode-model-infer-response.js';
import type { CompressionLevel } from '../../protocol/grpc/message-compression.js';
import { Stages } from '../stages.js';
import { readInferRequest, type IncomingRequest, type InferMethodOptions } from './infer-requests.js';
import type { ServedCore } from './served-core.js';
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
      const inference = new Inference(server, answer);
      inference.begin(readInferRequest(message, call, reading));
      return inference;
    },
  };
}

/** One call: its request on the way to the core, and the core's response on the way back. */
class Inference implements ResponseSink, InflightRequest, PacedEnd<IncomingRequest> {
  readonly #server: Pick<ServedCore, 'infer'>;
  readonly #answer: UnaryAnswer;
  readonly #stages = new Stages();
  #incoming: IncomingRequest | undefined;

  constructor(server: Pick<ServedCore, 'infer'>, answer: UnaryAnswer) {
    this.#server = server;
    this.#answer = answer;
  }

  begin(reading: PacedWork<IncomingRequest>): void {
    this.#stages.begin(() => startPaced(reading, this));
  }

  /** The request is read. */
  done(incoming: IncomingRequest): void {
    this.#incoming = incoming;
    this.#stages.begin(() => this.#server.infer(incoming.request, this));
  }

  /** It cannot be read. */
  failed(error: unknown): void {
    this.#answer.fail(TritonError.from(error));
  }

  cancel(): void {
    this.#stages.cancel();
  }

  respond(response: ModelInferResponse): void {
    const incoming = this.#incoming!;
    if (!incoming.isFormed) {
      this.#stages.end();
      this.#send(response);
      return;
    }
    this.#stages.begin(() =>
      startPaced(this.#form(response), {
        done: (formed) => this.#send(formed),
        failed: (error) => this.failed(error),
      }),
    );
  }

  *#form(response: ModelInferResponse): PacedWork<ModelInferResponse> {
    let isFormed = false;
    try {
      const formed = yield* this.#incoming!.form(response);
      isFormed = true;
      return formed;
    } finally {
      if (!isFormed) this.#incoming!.release();
    }
  }

  #send(response: ModelInferResponse): void {
    let frame: readonly Uint8Array[];
    try {
      frame = encodeModelInferResponse(response);
    } catch (error) {
      this.fail(TritonError.from(error));
      return;
    }
    this.#incoming!.release();
    this.#answer.succeed(frame);
  }

  complete(): void {
    this.fail(new TritonError('INTERNAL', 'this is a bug in TSTriton: an ordinary model ended without an answer'));
  }

  fail(error: TritonError): void {
    this.#incoming!.release();
    this.#answer.fail(error);
  }
}
