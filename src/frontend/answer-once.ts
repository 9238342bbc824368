// One request that has one answer, from its form to its encoded answer. Each stage may take its time, and is cancelled
// when nobody waits for the answer any more.

import type { ResponseSink } from '../core/response-sink.js';
import { TritonError } from '../errors.js';
import type { ModelInferResponse } from '../model/exchange.js';
import { startPaced, type PacedWork } from '../model/paced-work.js';
import type { CompleteRequest } from '../protocol/request-form.js';
import type { IncomingRequest, InferOptions } from './complete-request.js';
import { Stages } from './stages.js';

/** Where the answer goes: to one of `succeed` and `fail`. */
export interface AnswerWriter<Complete extends CompleteRequest, Encoded> {
  encode(response: ModelInferResponse, complete: Complete): PacedWork<Encoded>;
  succeed(encoded: Encoded): void;
  fail(error: TritonError): void;
}

/** Runs what `reading` makes of a request. Gives back what cancels it. */
export function answerOnce<Complete extends CompleteRequest, Encoded>(
  reading: PacedWork<IncomingRequest<Complete>>,
  writer: AnswerWriter<Complete, Encoded>,
  server: Pick<InferOptions['server'], 'infer'>,
): Stages {
  const stages = new Stages();
  stages.begin(() =>
    startPaced(reading, {
      done(incoming) {
        const sink = new AnswerSink(incoming, writer, stages);
        stages.begin(() => server.infer(incoming.request, sink, incoming.load));
      },
      failed: (error) => writer.fail(TritonError.from(error)),
    }),
  );
  return stages;
}

class AnswerSink<Complete extends CompleteRequest, Encoded> implements ResponseSink {
  readonly #incoming: IncomingRequest<Complete>;
  readonly #writer: AnswerWriter<Complete, Encoded>;
  readonly #stages: Stages;

  constructor(incoming: IncomingRequest<Complete>, writer: AnswerWriter<Complete, Encoded>, stages: Stages) {
    this.#incoming = incoming;
    this.#writer = writer;
    this.#stages = stages;
  }

  respond(response: ModelInferResponse): void {
    this.#stages.begin(() =>
      startPaced(this.#encode(response), {
        done: (encoded) => this.#writer.succeed(encoded),
        failed: (error) => this.#writer.fail(TritonError.from(error)),
      }),
    );
  }

  *#encode(response: ModelInferResponse): PacedWork<Encoded> {
    try {
      return yield* this.#writer.encode(yield* this.#incoming.answer(response), this.#incoming.complete);
    } finally {
      this.#incoming.release();
    }
  }

  /** Only decoupled models end without an answer, and those were refused. */
  complete(): void {
    this.fail(new TritonError('INTERNAL', 'expected a single response, got 0'));
  }

  fail(error: TritonError): void {
    this.#incoming.release();
    this.#writer.fail(error);
  }
}
