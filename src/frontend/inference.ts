// One request with one answer: its way to the core, and the core's response on the way back. Each stage may take several turns,
// and is cancelled when nobody waits for the answer any more. A decoupled model may give no answer, or several. Then the request
// fails.

import type { InflightRequest, ResponseSink } from '../core/response-sink.js';
import { TritonError } from '../errors.js';
import type { ModelInferResponse } from '../model/exchange.js';
import { type PacedWork } from '../pacing/paced-work.js';
import { type PacedEnd, startPaced } from '../pacing/paced-workers.js';
import type { CompleteRequest } from '../protocol/request-form.js';
import type { IncomingRequest, InferOptions } from './complete-request.js';

/** The stages of one request, one after the other. A cancellation ends the current stage, and no further stage follows. */
export class Stages implements InflightRequest {
  #stage: InflightRequest | undefined;
  #begun = 0;
  #state: 'open' | 'cancelled' | 'ended' = 'open';

  /** Begins a stage. `start` returns the work to cancel, or undefined if the stage is over already. It may begin the next stage. */
  begin(start: () => InflightRequest | undefined): void {
    const number = this.next();
    const stage = start();
    if (stage !== undefined) this.keep(stage, number);
  }

  /** Begins work that may pause as a stage. */
  pace<T>(work: PacedWork<T>, end: PacedEnd<T>): void {
    const number = this.next();
    const run = startPaced(work, end);
    if (run !== undefined) this.keep(run, number);
  }

  /** Called when a stage is over. Returns the number of the next one. */
  protected next(): number {
    // A kept stage would keep the memory of requests that were queued behind it.
    this.#stage = undefined;
    return ++this.#begun;
  }

  /** Keeps a stage that goes on after its call has returned, so that it can be cancelled. */
  protected keep(stage: InflightRequest, number: number): void {
    if (number !== this.#begun || this.#state === 'ended') return;
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

/** Takes the answer, through exactly one of these methods. */
export interface AnswerWriter<Complete extends CompleteRequest> {
  /** Writes the answer. Encoding it may be a stage. An error that this throws goes to `fail`. */
  write(response: ModelInferResponse, complete: Complete, stages: Stages): void;
  fail(error: TritonError): void;
}

export class Inference<Complete extends CompleteRequest>
  extends Stages
  implements ResponseSink, PacedEnd<IncomingRequest<Complete>>
{
  readonly #server: Pick<InferOptions['server'], 'infer'>;
  readonly #writer: AnswerWriter<Complete>;
  #incoming: IncomingRequest<Complete> | undefined;
  /** The first answer of a model that may give more. */
  #first: ModelInferResponse | undefined;
  #isRefused = false;
  readonly #notOne: () => TritonError;

  /** `notOne` makes the error for a request with no answer, or with several. */
  constructor(
    server: Pick<InferOptions['server'], 'infer'>,
    writer: AnswerWriter<Complete>,
    notOne: () => TritonError = noAnswer,
  ) {
    super();
    this.#server = server;
    this.#writer = writer;
    this.#notOne = notOne;
  }

  /** Completes the request, and runs it. */
  start(completing: PacedWork<IncomingRequest<Complete>>): void {
    this.pace(completing, this);
  }

  /** The request is complete. */
  done(incoming: IncomingRequest<Complete>): void {
    this.#incoming = incoming;
    const number = this.next();
    this.keep(this.#server.infer(incoming.request, this, incoming.load), number);
  }

  unwanted(incoming: IncomingRequest<Complete>): void {
    incoming.release();
  }

  /** The request, or its answer, cannot be completed. */
  failed(error: unknown): void {
    this.#writer.fail(TritonError.from(error));
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
    this.pace(this.#form(incoming, response), {
      done: (formed) => this.#write(formed),
      failed: (error) => this.failed(error),
    });
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
    // Answers have memory of their own.
    incoming.sharedMemory?.release();
    try {
      this.#writer.write(response, incoming.complete, this);
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
    this.cancel();
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
