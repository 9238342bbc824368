// One request that has one answer: on its way to the core, and the core's response on the way back. Each stage may take its
// time, and is cancelled when nobody waits for the answer any more. A decoupled model may give none, or several: such a
// request is refused.

import type { InflightRequest, ResponseSink } from '../core/response-sink.js';
import { TritonError } from '../errors.js';
import type { ModelInferResponse } from '../model/exchange.js';
import { type PacedWork } from '../model/paced-work.js';
import { type PacedEnd, startPaced } from '../model/paced-workers.js';
import type { CompleteRequest } from '../protocol/request-form.js';
import type { IncomingRequest, InferOptions } from './complete-request.js';

// What is under way for one request, one stage after the other: decoding, execution, encoding. When nobody waits for the
// answer any more, the stage that is under way is cancelled, and so is whatever would follow.

export class Stages implements InflightRequest {
  #stage: InflightRequest | undefined;
  #begun = 0;
  #state: 'open' | 'cancelled' | 'ended' = 'open';

  /** Begins a stage. `start` gives what cancels it, or undefined when it is over already; it may begin the next one. */
  begin(start: () => InflightRequest | undefined): void {
    const number = ++this.#begun;
    // The stage before is over. Nothing of it is kept, nor what it refers to: requests that were queued behind it.
    this.#stage = undefined;
    const stage = start();
    if (stage === undefined || number !== this.#begun || this.#state === 'ended') return;
    if (this.#state === 'cancelled') stage.cancel();
    else this.#stage = stage;
  }

  /** Nothing is under way any more. */
  end(): void {
    this.#state = 'ended';
    this.#stage = undefined;
  }

  cancel(): void {
    if (this.#state !== 'open') return;
    this.#state = 'cancelled';
    const stage = this.#stage;
    this.#stage = undefined;
    stage?.cancel();
  }
}

/** Where the answer goes: to one of these. */
export interface AnswerWriter<Complete extends CompleteRequest> {
  /** Encoding it may be a stage. An error that this throws comes back to `fail`. */
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
  /** The only answer so far of a model that may give another one. */
  #first: ModelInferResponse | undefined;
  #isRefused = false;
  readonly #notOne: () => TritonError;

  /** `notOne`: what a request fails with that gets no answer, or several. */
  constructor(
    server: Pick<InferOptions['server'], 'infer'>,
    writer: AnswerWriter<Complete>,
    notOne: () => TritonError = noAnswer,
  ) {
    this.#server = server;
    this.#writer = writer;
    this.#notOne = notOne;
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

  respond(response: ModelInferResponse, final: boolean): void {
    if (this.#first !== undefined) this.#refuse();
    else if (final) this.#answer(response);
    else this.#first = response;
  }

  #answer(response: ModelInferResponse): void {
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

  complete(): void {
    if (this.#first === undefined) this.#refuse();
    else if (!this.#isRefused) this.#answer(this.#first);
  }

  #refuse(): void {
    this.fail(this.#notOne());
    this.#isRefused = true;
    this.#stages.cancel();
  }

  fail(error: TritonError): void {
    if (this.#isRefused) return;
    this.#incoming!.release();
    this.#writer.fail(error);
  }
}

/** Only decoupled models end without an answer, and most endpoints refuse those. */
function noAnswer(): TritonError {
  return new TritonError('INTERNAL', 'expected a single response, got 0');
}
