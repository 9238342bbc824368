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
        const sink = sinkOf(incoming, writer, stages);
        stages.begin(() => server.infer(incoming.request, sink, incoming.load));
      },
      failed: (error) => writer.fail(TritonError.from(error)),
    }),
  );
  return stages;
}

function sinkOf<Complete extends CompleteRequest, Encoded>(
  incoming: IncomingRequest<Complete>,
  writer: AnswerWriter<Complete, Encoded>,
  stages: Stages,
): ResponseSink {
  function* encode(response: ModelInferResponse): PacedWork<Encoded> {
    try {
      return yield* writer.encode(yield* incoming.answer(response), incoming.complete);
    } finally {
      incoming.release();
    }
  }
  const fail = (error: TritonError) => {
    incoming.release();
    writer.fail(error);
  };
  return {
    respond(response) {
      stages.begin(() =>
        startPaced(encode(response), {
          done: (encoded) => writer.succeed(encoded),
          failed: (error) => writer.fail(TritonError.from(error)),
        }),
      );
    },
    // Only decoupled models end without an answer, and those were refused.
    complete: () => fail(new TritonError('INTERNAL', 'expected a single response, got 0')),
    fail,
  };
}
