// POST …/generate and …/generate_stream: JSON in, and flat JSON out, as one answer or as server-sent events. The status
// is that of the first thing the model says.

import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { startPaced } from '../../model/paced-workers.js';
import { checkJsonSize } from '../../protocol/http/decode-infer-request.js';
import { decodeGenerateRequest } from '../../protocol/http/decode-generate-request.js';
import { byteLengthOf } from '../../protocol/http/encode-infer-response.js';
import {
  encodeErrorEvent,
  encodeGenerateEvent,
  encodeGenerateResponse,
} from '../../protocol/http/encode-generate-response.js';
import { HTTP_STATUS } from '../../protocol/http/http-status.js';
import { completeRequest } from '../complete-request.js';
import { PacedAnswers } from '../paced-answers.js';
import { Stages } from '../stages.js';
import { headerTexts } from './header-texts.js';
import type { HttpExchange } from './http-exchange.js';
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
    throw new TritonError('INVALID_ARG', "Unsupported content-encoding, only 'identity' is supported.");
  }
  const length = request.bodyLength;
  if (length !== undefined) checkJsonSize(length, maxInputSize);
  const rules = { server, forwarding: undefined, texts: headerTexts, resolve };
  receiveBody(exchange, maxInputSize, (body) => {
    const sink = route.endpoint === 'generate' ? new GenerateSink(exchange) : new GenerateStreamSink(exchange);
    const { stages } = sink;
    const decoding = decodeGenerateRequest({ modelVersion: route.version, body, maxInputSize });
    stages.begin(() =>
      startPaced(completeRequest(decoding, request, rules), {
        done(incoming) {
          stages.begin(() => {
            const inflight = server.infer(incoming.request, sink, incoming.load);
            sink.admitted = true;
            return inflight;
          });
        },
        failed: (error) => sink.fail(TritonError.from(error)),
      }),
    );
  });
}

/** What both have in common: the request under way, answers that take their time, and that nothing comes after the end. */
abstract class Generation implements ResponseSink {
  readonly stages = new Stages();
  /** True from when the core has taken the request. */
  admitted = false;
  protected readonly exchange: HttpExchange;
  protected readonly answers = new PacedAnswers();
  #ended = false;

  constructor(exchange: HttpExchange) {
    this.exchange = exchange;
    exchange.answer.onAbort(() => this.cancel());
  }

  /** The client hung up. */
  cancel(): void {
    this.#ended = true;
    this.stages.cancel();
    this.answers.cancel();
  }

  respond(response: ModelInferResponse, final: boolean): void | Promise<void> {
    if (this.answers.busy) return this.answers.defer(() => this.respond(response, final));
    return this.#ended ? undefined : this.responded(response, final);
  }

  complete(): void {
    if (this.answers.busy) void this.answers.defer(() => this.complete());
    else if (!this.#ended) this.completed();
  }

  fail(error: TritonError): void {
    if (this.answers.busy) void this.answers.defer(() => this.fail(error));
    else if (!this.#ended) this.failed(error);
  }

  protected abstract responded(response: ModelInferResponse, final: boolean): void | Promise<void>;
  protected abstract completed(): void;
  protected abstract failed(error: TritonError): void;

  /** `cancel`: nobody wants the rest. */
  protected ended({ cancel }: { readonly cancel: boolean }): void {
    this.#ended = true;
    if (cancel) this.stages.cancel();
    else this.stages.end();
  }
}

class GenerateSink extends Generation {
  #only: ModelInferResponse | undefined;

  protected responded(response: ModelInferResponse, final: boolean): void {
    if (this.#only !== undefined) {
      this.#refuse();
    } else if (final) {
      this.#answer(response);
    } else {
      this.#only = response;
    }
  }

  protected completed(): void {
    if (this.#only === undefined) this.#refuse();
    else this.#answer(this.#only);
  }

  protected failed(error: TritonError): void {
    this.ended({ cancel: false });
    this.exchange.answerError(error);
  }

  #refuse(): void {
    this.ended({ cancel: true });
    // Triton says so with 200.
    this.exchange.answerError(
      new TritonError(
        'INVALID_ARG',
        'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses',
      ),
    );
  }

  #answer(response: ModelInferResponse): void {
    this.answers.encode(encodeGenerateResponse(response), {
      done: (parts) => {
        this.ended({ cancel: false });
        const headers = ['Content-Type', 'application/json', 'Content-Length', String(byteLengthOf(parts))];
        this.exchange.answer.respond(200, headers, parts);
      },
      failed: (error) => this.failed(TritonError.from(error)),
    });
  }
}

const EVENT_STREAM = 'text/event-stream; charset=utf-8';

class GenerateStreamSink extends Generation {
  #begun = false;

  protected responded(response: ModelInferResponse, final: boolean): void | Promise<void> {
    let room: void | Promise<void> = undefined;
    this.answers.encode(encodeGenerateEvent(response), {
      done: (parts) => {
        room = this.#send(parts, final);
      },
      failed: (error) => this.#endWith(TritonError.from(error)),
    });
    // While it is being encoded, the next one has to wait.
    return this.answers.busy ? this.answers.defer(() => room) : room;
  }

  #send(parts: readonly Buffer[], final: boolean): void | Promise<void> {
    this.#begin(200);
    const { answer } = this.exchange;
    for (const part of parts.slice(0, -1)) void answer.send(part);
    const last = parts.at(-1)!;
    if (!final) return answer.send(last);
    this.ended({ cancel: false });
    answer.end(last);
  }

  protected completed(): void {
    this.#begin(200);
    this.ended({ cancel: false });
    this.exchange.answer.end();
  }

  protected failed(error: TritonError): void {
    if (this.admitted) {
      this.#endWith(error);
      return;
    }
    this.ended({ cancel: false });
    this.exchange.answerError(error);
  }

  #endWith(error: TritonError): void {
    this.#begin(HTTP_STATUS[error.code]);
    this.ended({ cancel: true });
    this.exchange.answer.end(encodeErrorEvent(error));
  }

  #begin(status: number): void {
    if (this.#begun) return;
    this.#begun = true;
    this.exchange.answer.begin(status, ['Content-Type', EVENT_STREAM]);
  }
}
