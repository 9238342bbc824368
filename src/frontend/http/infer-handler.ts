// POST …/infer: checks in Triton's order (server/src/http_server.cc, HandleInfer), decodes the body, hands the request
// to the core, and writes what the core answers.

import type { InferenceServer } from '../../core/inference-server.js';
import type { InflightRequest, ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import type { BinaryOutputs } from '../../protocol/http/binary-outputs.js';
import { checkJsonSize, decodeInferRequest } from '../../protocol/http/decode-infer-request.js';
import { encodeInferResponse } from '../../protocol/http/encode-infer-response.js';
import { parseHeaderLength } from '../../protocol/http/header-length.js';
import type { HttpExchange } from './http-exchange.js';
import { declaredLength, MAX_BODY_BYTES, receiveBody } from './receive-body.js';
import type { Route } from './routes.js';

export interface InferHandlerOptions {
  readonly server: InferenceServer;
  /** Largest JSON part of a request in bytes. */
  readonly maxInputSize: number;
}

/** Throws what is wrong before the body is read; everything later is answered. */
export function handleInfer(exchange: HttpExchange, route: Route, { server, maxInputSize }: InferHandlerOptions): void {
  const config = server.modelConfig(route.model, route.version);
  if (config.decoupled) {
    throw new TritonError('UNSUPPORTED', "HTTP end point doesn't support models with decoupled transaction policy");
  }
  const encoding = exchange.request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    exchange.answerError(new TritonError('UNSUPPORTED', 'Unsupported compression type'), [
      'Accept-Encoding',
      'identity',
    ]);
    return;
  }
  const headerLength = headerLengthOf(exchange);
  const length = declaredLength(exchange);
  if (length !== undefined && length <= MAX_BODY_BYTES)
    checkJsonSize(parseHeaderLength(headerLength, length), maxInputSize);
  // Of a chunked body without binary data everything is JSON.
  const limit = length === undefined && headerLength === undefined ? maxInputSize : MAX_BODY_BYTES;
  receiveBody(exchange, limit, {
    received: (body) => run(exchange, { server, config, version: route.version, body, headerLength, maxInputSize }),
    refused: (error) => {
      // Reading the rest only to drop it could take forever.
      exchange.connection.closeWhenAnswered();
      exchange.answerError(error);
    },
  });
}

function headerLengthOf({ request }: HttpExchange): string | undefined {
  return request.headers['inference-header-content-length'] as string | undefined;
}

interface ReceivedRequest {
  readonly server: InferenceServer;
  readonly config: CompleteModelConfig;
  readonly version: string;
  readonly body: Buffer;
  readonly headerLength: string | undefined;
  readonly maxInputSize: number;
}

function run(
  exchange: HttpExchange,
  { server, config, version, body, headerLength, maxInputSize }: ReceivedRequest,
): void {
  try {
    const { request, binaryOutputs } = decodeInferRequest({
      config,
      modelVersion: version,
      body,
      headerLength,
      maxInputSize,
    });
    const sink = new HttpResponseSink(exchange, binaryOutputs);
    sink.started(server.infer(request, sink));
  } catch (error) {
    exchange.answerError(TritonError.from(error));
  }
}

class HttpResponseSink implements ResponseSink {
  readonly #exchange: HttpExchange;
  readonly #binaryOutputs: BinaryOutputs;
  #inflight: InflightRequest | undefined;

  constructor(exchange: HttpExchange, binaryOutputs: BinaryOutputs) {
    this.#exchange = exchange;
    this.#binaryOutputs = binaryOutputs;
  }

  started(inflight: InflightRequest): void {
    if (this.#exchange.answered) return;
    this.#inflight = inflight;
    this.#exchange.connection.started(inflight);
  }

  respond(response: ModelInferResponse): void {
    this.#end();
    let encoded;
    try {
      encoded = encodeInferResponse(response, this.#binaryOutputs);
    } catch (error) {
      this.#exchange.answerError(TritonError.from(error));
      return;
    }
    const { headerLength, parts, contentLength } = encoded;
    const headers = ['Content-Type', 'application/json', 'Content-Length', String(contentLength)];
    if (headerLength !== undefined) {
      headers[1] = 'application/octet-stream';
      headers.push('Inference-Header-Content-Length', String(headerLength));
    }
    this.#exchange.answerParts(headers, parts, contentLength);
  }

  /** Only decoupled models end without an answer, and those were refused. */
  complete(): void {
    this.fail(new TritonError('INTERNAL', 'expected a single response, got 0'));
  }

  fail(error: TritonError): void {
    this.#end();
    this.#exchange.answerError(error);
  }

  #end(): void {
    if (this.#inflight !== undefined) this.#exchange.connection.done(this.#inflight);
  }
}
