// POST …/generate and …/generate_stream: JSON in, and flat JSON out, as one answer or as server-sent events. The status
// is that of the first thing the model says.

import type { InferenceServer } from '../../core/inference-server.js';
import type { InflightRequest, ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { checkJsonSize } from '../../protocol/http/decode-infer-request.js';
import { decodeGenerateRequest } from '../../protocol/http/decode-generate-request.js';
import {
  encodeErrorEvent,
  encodeGenerateEvent,
  encodeGenerateResponse,
} from '../../protocol/http/encode-generate-response.js';
import { HTTP_STATUS } from '../../protocol/http/http-status.js';
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
      try {
        let request = decodeGenerateRequest({ config, modelVersion: route.version, body, maxInputSize });
        if (server.traces) request = { ...request, traceContext: traceContextOf(exchange.request.headers) };
        const sink = route.endpoint === 'generate' ? new GenerateSink(exchange) : new GenerateStreamSink(exchange);
        sink.started(server.infer(request, sink));
      } catch (error) {
        exchange.answerError(TritonError.from(error));
      }
    },
    refused: (error) => {
      exchange.connection.closeWhenAnswered();
      exchange.answerError(error);
    },
  });
}

/** What both have in common: the request under way, and that nothing comes after the end. */
abstract class Generation implements ResponseSink {
  protected readonly exchange: HttpExchange;
  /** True from when the core has taken the request. */
  protected admitted = false;
  #inflight: InflightRequest | undefined;
  #ended = false;

  constructor(exchange: HttpExchange) {
    this.exchange = exchange;
  }

  started(inflight: InflightRequest): void {
    this.admitted = true;
    // It may have ended before there was anything to cancel.
    if (this.#ended) {
      inflight.cancel();
      return;
    }
    this.#inflight = inflight;
    this.exchange.connection.started(inflight);
  }

  respond(response: ModelInferResponse, final: boolean): void | Promise<void> {
    return this.#ended ? undefined : this.responded(response, final);
  }

  complete(): void {
    if (!this.#ended) this.completed();
  }

  fail(error: TritonError): void {
    if (!this.#ended) this.failed(error);
  }

  protected abstract responded(response: ModelInferResponse, final: boolean): void | Promise<void>;
  protected abstract completed(): void;
  protected abstract failed(error: TritonError): void;

  /** `cancel`: nobody wants the rest. */
  protected ended({ cancel }: { readonly cancel: boolean }): void {
    this.#ended = true;
    if (this.#inflight === undefined) return;
    this.exchange.connection.done(this.#inflight);
    if (cancel) this.#inflight.cancel();
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
    this.ended({ cancel: false });
    let body;
    try {
      body = encodeGenerateResponse(response);
    } catch (error) {
      this.exchange.answerError(TritonError.from(error));
      return;
    }
    this.exchange.answerBody(200, 'application/json', body);
  }
}

const EVENT_STREAM = 'text/event-stream; charset=utf-8';

class GenerateStreamSink extends Generation {
  #begun = false;

  protected responded(response: ModelInferResponse, final: boolean): void | Promise<void> {
    let event;
    try {
      event = encodeGenerateEvent(response);
    } catch (error) {
      this.#endWith(TritonError.from(error));
      return undefined;
    }
    this.#begin(200);
    if (!final) return this.exchange.send(event);
    this.ended({ cancel: false });
    this.exchange.end(event);
    return undefined;
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
