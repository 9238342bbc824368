// One request that has one answer: on its way to the core, and the core's response on the way back. Each stage may take its
// time, and is cancelled when nobody waits for the answer any more.

import type { InflightRequest, ResponseSink } from '../core/response-sink.js';
import { TritonError } from '../errors.js';
import type { ModelInferResponse } from '../model/exchange.js';
import { type PacedWork } from '../model/paced-work.js';
import { startPaced, type PacedEnd } from '../model/paced-workers.js';
import type { CompleteRequest } from '../protocol/request-form.js';
import type { IncomingRequest, InferOptions } from './complete-request.js';
import { Stages } from './stages.js';

/** Where the answer goes: to one of these. */
export interface AnswerWriter<Complete extends CompleteRequest> {
  /** Encoding it may be a stage. What this throws is told by `fail`. */
  write(response: ModelInferResponse, complete: Complete, stages: Stages): void;
  fail(error: TritonError): void;
}

export class Inference<Complete extends CompleteRequest>
  implements ResponseSink, InflightRequest, PacedEnd<IncomingRequest<Complete>>
{
  readonly #server: Pick<InferOptions['server'], 'infer'>;
  readonly #writer: AnswerWriter<Complete>;
  readonly #stages = new Stages();
  #incoming: IncomingRequest<Complete> | undefined;

  constructor(server: Pick<InferOptions['server'], 'infer'>, writer: AnswerWriter<Complete>) {
    this.#server = server;
    this.#writer = writer;
  }

  begin(completing: PacedWork<IncomingRequest<Complete>>): void {
    this.#stages.begin(() => startPaced(completing, this));
  }

  /** The request is complete. */
  done(incoming: IncomingRequest<Complete>): void {
    this.#incoming = incoming;
    this.#stages.begin(() => this.#server.infer(incoming.request, this, incoming.load));
  }

  /** The request, or its answer, cannot be made. */
  failed(error: unknown): void {
    this.#writer.fail(TritonError.from(error));
  }

  cancel(): void {
    this.#stages.cancel();
  }

  respond(response: ModelInferResponse): void {
    const incoming = this.#incoming!;
    if (!incoming.isFormed) {
      this.#write(response);
      return;
    }
    this.#stages.begin(() =>
      startPaced(this.#form(incoming, response), {
        done: (formed) => this.#write(formed),
        failed: (error) => this.failed(error),
      }),
    );
  }

  *#form(incoming: IncomingRequest, response: ModelInferResponse): PacedWork<ModelInferResponse> {
    try {
      return yield* incoming.form(response);
    } finally {
      incoming.release();
    }
  }

  #write(response: ModelInferResponse): void {
    const incoming = this.#incoming!;
    // Answers are no views of shared memory.
    incoming.release();
    try {
      this.#writer.write(response, incoming.complete, this.#stages);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Only decoupled models end without an answer, and those were refused. */
  complete(): void {
    this.fail(new TritonError('INTERNAL', 'expected a single response, got 0'));
  }

  fail(error: TritonError): void {
    this.#incoming!.release();
    this.#writer.fail(error);
  }
}
