// The answers of a request to a model that may give any number of them, sent as they come. The first answer or error decides the
// status. A slow reader holds up the model, and a client that leaves cancels the request.

import type { ResponseSink } from '../../core/response-sink.js';
import { HTTP_STATUS, TritonError } from '../../errors.js';
import type { HttpExchange, HttpHeaders } from '../../http1/http-exchange.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { type PacedWork } from '../../pacing/paced-work.js';
import type { IncomingRequest, InferOptions } from '../complete-request.js';
import { Stages } from '../inference.js';
import { PacedAnswers } from '../paced-answers.js';
import { answerError } from './answers.js';

/** Keeps a proxy such as nginx from collecting the answers. Triton's own endpoints do not send it. */
export const UNBUFFERED = ['X-Accel-Buffering', 'no'] as const;

/** How the answers are written. */
export interface StreamFormat {
  readonly contentType: string;
  /** Further headers, made with the first answer. Default: none. */
  readonly headers?: () => HttpHeaders;
  /** The text of one answer, in chunks. */
  encode(response: ModelInferResponse, config: CompleteModelConfig): PacedWork<readonly Buffer[]>;
  encodeError(error: TritonError): Buffer;
  /** Whether a failure before the first answer has the form of any other refusal. Otherwise it is an answer of the stream. */
  readonly failsAsJson?: boolean;
}

/** Sends any number of answers, each of which may take several turns. Nothing follows the end. */
export class AnswerStream implements ResponseSink {
  readonly #exchange: HttpExchange;
  readonly #server: InferOptions['server'];
  readonly #stages = new Stages();
  readonly #answers = new PacedAnswers();
  /** True once the core has taken the request. */
  #admitted = false;
  #begun = false;
  #ended = false;

  readonly #format: StreamFormat;
  #config: CompleteModelConfig | undefined;

  constructor(exchange: HttpExchange, server: InferOptions['server'], format: StreamFormat) {
    this.#exchange = exchange;
    this.#server = server;
    this.#format = format;
  }

  start(completing: PacedWork<IncomingRequest>): void {
    this.#stages.pace(completing, {
      done: ({ request, load, config }) => {
        this.#config = config;
        this.#stages.begin(() => {
          const inflight = this.#server.infer(request, this, load);
          this.#admitted = true;
          return inflight;
        });
      },
      failed: (error) => this.fail(TritonError.from(error)),
    });
  }

  /** The client hung up. */
  cancel(): void {
    this.#ended = true;
    this.#stages.cancel();
    this.#answers.cancel();
  }

  respond(response: ModelInferResponse, final: boolean): void | Promise<void> {
    if (this.#answers.busy) return this.#answers.defer(() => this.respond(response, final));
    if (this.#ended) return undefined;
    let room: void | Promise<void> = undefined;
    this.#answers.encode(this.#format.encode(response, this.#config!), {
      done: (parts) => {
        room = this.#send(parts, final);
      },
      failed: (error) => this.#endWith(TritonError.from(error)),
    });
    // The next answer has to wait while this one is being encoded.
    return this.#answers.busy ? this.#answers.defer(() => room) : room;
  }

  complete(): void {
    if (this.#answers.busy) {
      void this.#answers.defer(() => this.complete());
    } else if (!this.#ended) {
      this.#begin(200);
      this.#end({ cancel: false });
      this.#exchange.end();
    }
  }

  fail(error: TritonError): void {
    if (this.#answers.busy) {
      void this.#answers.defer(() => this.fail(error));
    } else if (!this.#ended && this.#admitted) {
      this.#endWith(error);
    } else if (!this.#ended) {
      this.#end({ cancel: false });
      answerError(this.#exchange, error);
    }
  }

  #send(parts: readonly Buffer[], final: boolean): void | Promise<void> {
    this.#begin(200);
    const exchange = this.#exchange;
    for (const part of parts.slice(0, -1)) void exchange.send(part);
    const last = parts.at(-1)!;
    if (!final) return exchange.send(last);
    this.#end({ cancel: false });
    exchange.end(last);
  }

  #endWith(error: TritonError): void {
    if (!this.#begun && this.#format.failsAsJson === true) {
      this.#end({ cancel: true });
      answerError(this.#exchange, error);
      return;
    }
    this.#begin(HTTP_STATUS[error.code]);
    this.#end({ cancel: true });
    this.#exchange.end(this.#format.encodeError(error));
  }

  #begin(status: number): void {
    if (this.#begun) return;
    this.#begun = true;
    const { contentType, headers } = this.#format;
    this.#exchange.begin(status, ['Content-Type', contentType, ...(headers?.() ?? [])]);
  }

  /** `cancel`: nobody wants the rest. */
  #end({ cancel }: { readonly cancel: boolean }): void {
    this.#ended = true;
    if (cancel) this.#stages.cancel();
    else this.#stages.end();
  }
}
