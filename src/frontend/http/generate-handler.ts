// POST …/generate and …/generate_stream: JSON in, and flat JSON out, as one answer or as server-sent events. The status
// is that of the first thing the model says.

import type { InferenceServer } from '../../core/inference-server.js';
import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { startPaced } from '../../model/paced-work.js';
import { checkJsonSize } from '../../protocol/http/decode-infer-request.js';
import { decodeGenerateRequest } from '../../protocol/http/decode-generate-request.js';
import { byteLengthOf } from '../../protocol/http/encode-infer-response.js';
import {
  encodeErrorEvent,
  encodeGenerateEvent,
  encodeGenerateResponse,
} from '../../protocol/http/encode-generate-response.js';
import { HTTP_STATUS } from '../../protocol/http/http-status.js';
import { PacedAnswers } from '../paced-answers.js';
import { Stages } from '../stages.js';
import { traceContextOf } from './header-texts.js';
import type { HttpExchange } from './http-exchange.js';
import { declaredLength, receiveBody } from './receive-body.js';
import type { Route } from './routes.js';

export interface GenerateHandlerOptions {
  readonly server: InferenceServer;
  /** Largest body in bytes, and largest size of its tensors. */
  readonly maxInputSize: number;
}

/** Throws what is wrong before the body is read; everything later is answered. */
export function handleGenerate(exchange: HttpExchange, route: Route, options: GenerateHandlerOptions): void {
  const { server, maxInputSize } = options;
  const config = server.modelConfig(route.model, route.version);
  const coding = exchange.request.headers['content-encoding'];
  if (coding !== undefined && coding !== 'identity') {
    throw new TritonError('INVALID_ARG', "Unsupported content-encoding, only 'identity' is supported.");
  }
  const length = declaredLength(exchange);
  if (length !== undefined) checkJsonSize(length, maxInputSize);
  receiveBody(exchange, maxInputSize, {
    received: (body) => {
      const sink = route.endpoint === 'generate' ? new GenerateSink(exchange) : new GenerateStreamSink(exchange);
      const decoding = decodeGenerateRequest({ config, modelVersion: route.version, body, maxInputSize });
      const { stages } = sink;
      stages.begin(() =>
        startPaced(decoding, {
          done(decoded) {
            const { headers } = exchange.request;
            const request = server.traces ? { ...decoded, traceContext: traceContextOf(headers) } : decoded;
            stages.begin(() => {
              const inflight = server.infer(request, sink);
              sink.admitted = true;
              return inflight;
            });
          },
          failed: (error) => sink.fail(TritonError.from(error)),
        }),
      );
    },
    refused: (error) => {
      exchange.connection.closeWhenAnswered();
      exchange.answerError(error);
    },
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
    exchange.connection.started(this);
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
    this.exchange.connection.done(this);
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
        const contentLength = byteLengthOf(parts);
        const headers = ['Content-Type', 'application/json', 'Content-Length', String(contentLength)];
        this.exchange.answerParts(headers, parts, contentLength);
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
    for (const part of parts.slice(0, -1)) void this.exchange.send(part);
    const last = parts.at(-1)!;
    if (!final) return this.exchange.send(last);
    this.ended({ cancel: false });
    this.exchange.end(last);
  }

  protected completed(): void {
    this.#begin(200);
    this.ended({ cancel: false });
    this.exchange.end();
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
    this.exchange.end(encodeErrorEvent(error));
  }

  #begin(status: number): void {
    if (this.#begun) return;
    this.#begun = true;
    this.exchange.begin(status, EVENT_STREAM);
  }
}
