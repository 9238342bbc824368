// One request of a ModelStreamInfer stream: turns what the core answers into messages of the stream, and remembers its
// outcome until its turn comes.

import type { InflightRequest, ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import type { CompleteInferRequest, RequestReference } from '../../protocol/grpc/decode-infer-request.js';
import { encodeStreamError, encodeStreamResponse } from '../../protocol/grpc/encode-infer-response.js';
import type { PacedWork } from '../../model/paced-work.js';
import type { IncomingRequest } from '../complete-request.js';
import { PacedAnswers } from '../paced-answers.js';

type Frame = readonly Uint8Array[];

/** How a request ended, and the last message that is to tell so. */
export type StreamOutcome =
  | { readonly kind: 'answered'; readonly frame: Frame | undefined; readonly memory?: ArrayBuffer | undefined }
  | { readonly kind: 'failed'; readonly error: TritonError; readonly refused: boolean };

/** The stream of a request. */
export interface RequestStream {
  send(frame: Frame, memory?: ArrayBuffer): void | Promise<void>;
  /** The request has its outcome. */
  settled(request: StreamedRequest): void;
}

export class StreamedRequest implements ResponseSink {
  /** Whether it has to wait for the answers to earlier requests. */
  readonly ordered: boolean;
  /** The one behind it in order. */
  next: StreamedRequest | undefined;
  outcome: StreamOutcome | undefined;
  /** Of its message. */
  readonly bytes: number;
  readonly #stream: RequestStream;
  readonly #reference: RequestReference;
  readonly #incoming: IncomingRequest<CompleteInferRequest> | undefined;
  readonly #answers = new PacedAnswers();
  #inflight: InflightRequest | undefined;
  /** The core has taken it: what fails now is the model. */
  #accepted = false;

  /** `incoming` is undefined for one that was refused before it came to the core. */
  constructor(
    stream: RequestStream,
    reference: RequestReference,
    incoming: IncomingRequest<CompleteInferRequest> | undefined,
    bytes = 0,
  ) {
    this.bytes = bytes;
    this.#stream = stream;
    this.#reference = reference;
    this.#incoming = incoming;
    this.ordered = incoming?.config.decoupled !== true;
  }

  started(inflight: InflightRequest): void {
    this.#accepted = true;
    if (this.outcome === undefined) this.#inflight = inflight;
  }

  /** Nobody waits for it any more. */
  cancel(): void {
    this.outcome ??= { kind: 'answered', frame: undefined };
    this.#inflight?.cancel();
    this.#answers.cancel();
  }

  respond(response: ModelInferResponse, final: boolean): void | Promise<void> {
    const answers = this.#answers;
    if (answers.busy) return answers.defer(() => this.respond(response, final));
    if (this.outcome !== undefined) {
      if (final) this.#incoming!.release();
      return undefined;
    }
    let room: void | Promise<void> = undefined;
    answers.encode(this.#encode(response, final), {
      done: (frame) => {
        if (final) this.#settle({ kind: 'answered', frame, memory: response.memory });
        else room = this.#stream.send(frame, response.memory);
      },
      failed: (error) => {
        const inflight = this.#inflight;
        this.#settle({ kind: 'failed', error: TritonError.from(error), refused: false });
        inflight?.cancel();
      },
    });
    // While it is being encoded, the next one has to wait.
    return answers.busy ? answers.defer(() => room) : room;
  }

  *#encode(response: ModelInferResponse, final: boolean): PacedWork<Frame> {
    try {
      return encodeStreamResponse(yield* this.#incoming!.form(response), final);
    } finally {
      if (final) this.#incoming!.release();
    }
  }

  complete(): void {
    if (this.#answers.busy) {
      void this.#answers.defer(() => this.complete());
      return;
    }
    this.#incoming?.release();
    const nothing = { ...this.#reference, parameters: undefined, outputs: [] };
    const frame =
      this.#incoming?.complete.emptyFinalResponse === true ? encodeStreamResponse(nothing, true) : undefined;
    this.#settle({ kind: 'answered', frame });
  }

  fail(error: TritonError): void {
    if (this.#answers.busy) {
      void this.#answers.defer(() => this.fail(error));
      return;
    }
    this.#incoming?.release();
    this.#settle({ kind: 'failed', error, refused: !this.#accepted });
  }

  /** What tells the client of a failure: a refused request is known by its id alone. */
  errorFrame({ error, refused }: Extract<StreamOutcome, { kind: 'failed' }>): Frame {
    const { modelName, modelVersion, id } = this.#reference;
    return encodeStreamError(error.message, {
      id,
      model: refused ? undefined : { name: modelName, version: modelVersion },
    });
  }

  #settle(outcome: StreamOutcome): void {
    if (this.outcome !== undefined) return;
    this.outcome = outcome;
    this.#inflight = undefined;
    this.#stream.settled(this);
  }
}
