// POST …/generate and …/generate_stream: JSON in, and flat JSON out, as one answer or as server-sent events. The status
// is that of the first thing the model says.

import type { ResponseSink } from '../../core/response-sink.js';
import { invalidArg, TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { type PacedWork } from '../../model/paced-work.js';
import { startPaced } from '../../model/paced-workers.js';
import { decodeGenerateRequest } from '../../protocol/http/decode-generate-request.js';
import { checkJsonSize } from '../../protocol/http/decode-infer-request.js';
import {
  encodeErrorEvent,
  encodeGenerateEvent,
  encodeGenerateResponse,
} from '../../protocol/http/encode-generate-response.js';
import { byteLengthOf } from '../../protocol/http/encode-infer-response.js';
import { HTTP_STATUS } from '../../protocol/http/http-status.js';
import type { CompleteRequest } from '../../protocol/request-form.js';
import { completeRequest, type IncomingRequest, type InferOptions } from '../complete-request.js';
import { type AnswerWriter, Inference, Stages } from '../inference.js';
import { PacedAnswers } from '../paced-answers.js';
import { headerTexts, type HttpExchange } from './http-exchange.js';
import type { InferHandlerOptions } from './infer-handler.js';
import { receiveBody } from './receive-body.js';
import type { Route } from './routes.js';

/** `maxInputSize` is for the body, and for its tensors together. */
type GenerateOptions = Pick<InferHandlerOptions, 'server' | 'maxInputSize'>;

/** Throws what is wrong before the body is read; everything later is answered. */
export function handleGenerate(exchange: HttpExchange, route: Route, options: GenerateOptions): void {
  const { server, maxInputSize } = options;
  const { request } = exchange;
  const resolve = () => server.resolve(route.model, route.version);
  // Asked for its refusals: the model may be another one when the body is here.
  resolve();
  const coding = request.header('content-encoding');
  if (coding !== undefined && coding !== 'identity') {
    throw invalidArg("Unsupported content-encoding, only 'identity' is supported.");
  }
  const length = request.bodyLength;
  if (length !== undefined) checkJsonSize(length, maxInputSize);
  const rules = { server, forwarding: undefined, protocol: 'HTTP', texts: headerTexts, resolve } as const;
  receiveBody(exchange, { limit: maxInputSize }, (body) => {
    const decoding = decodeGenerateRequest({ modelVersion: route.version, body, maxInputSize });
    const completing = completeRequest(decoding, request, rules);
    const generation =
      route.endpoint === 'generate' ? answerOnce(exchange, server) : new GenerateStream(exchange, server);
    exchange.answer.onAbort(() => generation.cancel());
    generation.begin(completing);
  });
}

function answerOnce(exchange: HttpExchange, server: InferOptions['server']): Inference<CompleteRequest> {
  const writer: AnswerWriter<CompleteRequest> = {
    write(response, _, stages) {
      stages.begin(() =>
        startPaced(encodeGenerateResponse(response), {
          done(parts) {
            stages.end();
            const headers = ['Content-Type', 'application/json', 'Content-Length', String(byteLengthOf(parts))];
            exchange.answer.respond(200, headers, parts);
          },
          failed: (error) => exchange.answerError(TritonError.from(error)),
        }),
      );
    },
    fail: (error) => exchange.answerError(error),
  };
  return new Inference(server, writer, notOneAnswer);
}

/** Triton says so with 200. */
function notOneAnswer(): TritonError {
  return invalidArg(
    'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses',
  );
}

const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/** Any number of answers, each of which may take its time; nothing comes after the end. */
class GenerateStream implements ResponseSink {
  readonly #exchange: HttpExchange;
  readonly #server: InferOptions['server'];
  readonly #stages = new Stages();
  readonly #answers = new PacedAnswers();
  /** True from when the core has taken the request. */
  #admitted = false;
  #begun = false;
  #ended = false;

  constructor(exchange: HttpExchange, server: InferOptions['server']) {
    this.#exchange = exchange;
    this.#server = server;
  }

  begin(completing: PacedWork<IncomingRequest>): void {
    this.#stages.begin(() =>
      startPaced(completing, {
        done: ({ request, load }) => {
          this.#stages.begin(() => {
            const inflight = this.#server.infer(request, this, load);
            this.#admitted = true;
            return inflight;
          });
        },
        failed: (error) => this.fail(TritonError.from(error)),
      }),
    );
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
    this.#answers.encode(encodeGenerateEvent(response), {
      done: (parts) => {
        room = this.#send(parts, final);
      },
      failed: (error) => this.#endWith(TritonError.from(error)),
    });
    // While it is being encoded, the next one has to wait.
    return this.#answers.busy ? this.#answers.defer(() => room) : room;
  }

  complete(): void {
    if (this.#answers.busy) {
      void this.#answers.defer(() => this.complete());
    } else if (!this.#ended) {
      this.#begin(200);
      this.#end({ cancel: false });
      this.#exchange.answer.end();
    }
  }

  fail(error: TritonError): void {
    if (this.#answers.busy) {
      void this.#answers.defer(() => this.fail(error));
    } else if (!this.#ended && this.#admitted) {
      this.#endWith(error);
    } else if (!this.#ended) {
      this.#end({ cancel: false });
      this.#exchange.answerError(error);
    }
  }

  #send(parts: readonly Buffer[], final: boolean): void | Promise<void> {
    this.#begin(200);
    const { answer } = this.#exchange;
    for (const part of parts.slice(0, -1)) void answer.send(part);
    const last = parts.at(-1)!;
    if (!final) return answer.send(last);
    this.#end({ cancel: false });
    answer.end(last);
  }

  #endWith(error: TritonError): void {
    this.#begin(HTTP_STATUS[error.code]);
    this.#end({ cancel: true });
    this.#exchange.answer.end(encodeErrorEvent(error));
  }

  #begin(status: number): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#exchange.answer.begin(status, ['Content-Type', EVENT_STREAM]);
  }

  /** `cancel`: nobody wants the rest. */
  #end({ cancel }: { readonly cancel: boolean }): void {
    this.#ended = true;
    if (cancel) this.#stages.cancel();
    else this.#stages.end();
  }
}
