// One request of a ModelStreamInfer stream. It turns the core's answers into messages of the stream, and remembers its outcome
// until its turn comes.
//
// A client that asks for no empty final response sees the end of a decoupled request only where a response says that it is the
// final one. For such clients an answer stays here until the code of this turn has run. If the request ends meanwhile, the answer
// was the last one. That delays no byte: the connection writes after that code too (`sockets/write-turn.ts`).

import type { InflightRequest, ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import type { CompleteInferRequest, RequestReference } from '../../protocol/grpc/decode-infer-request.js';
import { encodeStreamError, encodeStreamResponse } from '../../protocol/grpc/encode-infer-response.js';
import type { PacedWork } from '../../pacing/paced-work.js';
import type { IncomingRequest } from '../complete-request.js';
import { PacedAnswers } from '../paced-answers.js';

type Frame = readonly Uint8Array[];

/** How a request ended, and the last message, which reports it. */
export type StreamOutcome =
  | { readonly kind: 'answered'; readonly frame: Frame | undefined; readonly memory?: ArrayBuffer | undefined }
  | { readonly kind: 'failed'; readonly error: TritonError; readonly refused: boolean };

/** The stream of a request. */
export interface RequestStream {
  send(frame: Frame, memory?: ArrayBuffer): void | Promise<void>;
  /** While the reader is slow: resolves when it has caught up. */
  readonly room: Promise<void> | undefined;
  /** Called when the request has its outcome. */
  settled(request: StreamedRequest): void;
}

export class StreamedRequest implements ResponseSink {
  /** Whether the request has to wait for the answers to earlier requests. */
  readonly ordered: boolean;
  /** The next request in order. */
  next: StreamedRequest | undefined;
  outcome: StreamOutcome | undefined;
  /** Size of the request's message. */
  readonly bytes: number;
  readonly #stream: RequestStream;
  readonly #reference: RequestReference;
  readonly #incoming: IncomingRequest<CompleteInferRequest> | undefined;
  readonly #answers = new PacedAnswers();
  /** Whether an answer waits for the end of its turn. */
  readonly #watchesEnd: boolean;
  /** The answer that waits. */
  #held: ModelInferResponse | undefined;
  #inflight: InflightRequest | undefined;
  /** Whether the core has taken the request. From then on, a failure is the model's. */
  #accepted = false;

  /** `incoming` is undefined for a request that was refused before it reached the core. */
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
    this.#watchesEnd = !this.ordered && incoming?.complete.emptyFinalResponse === false;
  }

  started(inflight: InflightRequest): void {
    this.#accepted = true;
    if (this.outcome === undefined) this.#inflight = inflight;
  }

  /** Nobody waits for the request any more. */
  cancel(): void {
    this.outcome ??= { kind: 'answered', frame: undefined };
    this.#held = undefined;
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
    if (!this.#watchesEnd) return this.#send(response, final);
    const held = this.#held;
    this.#held = final ? undefined : response;
    if (held === undefined && !final) process.nextTick(this.release);
    if (held !== undefined) void this.#send(held, false);
    if (!final) return this.#stream.room;
    return answers.busy ? answers.defer(() => this.#send(response, true)) : this.#send(response, true);
  }

  /** Sends the answer that waits: the turn is over and the request has not ended, or the stream ends. */
  readonly release = (): void => {
    if (this.#answers.busy) {
      void this.#answers.defer(this.release);
      return;
    }
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) void this.#send(held, false);
  };

  #send(response: ModelInferResponse, final: boolean): void | Promise<void> {
    const answers = this.#answers;
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
    // The next answer has to wait while this one is being encoded.
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
    const held = this.#held;
    if (held !== undefined) {
      this.#held = undefined;
      void this.#send(held, true);
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
    if (this.#held !== undefined) {
      this.release();
      this.fail(error);
      return;
    }
    this.#incoming?.release();
    this.#settle({ kind: 'failed', error, refused: !this.#accepted });
  }

  /** The message that reports a failure. For a refused request it gives the id alone. */
  errorFrame({ error, refused }: Extract<StreamOutcome, { kind: 'failed' }>, wantsCode: boolean): Frame {
    const { modelName, modelVersion, id } = this.#reference;
    return encodeStreamError(error, {
      id,
      model: refused ? undefined : { name: modelName, version: modelVersion },
      wantsCode,
    });
  }

  #settle(outcome: StreamOutcome): void {
    if (this.outcome !== undefined) return;
    this.outcome = outcome;
    this.#inflight = undefined;
    this.#stream.settled(this);
  }
}
