// POST …/infer: checks in Triton's order (server/src/http_server.cc, HandleInfer), decodes the body, hands the request
// to the core, and writes what the core answers.

import type { InferenceServer } from '../../core/inference-server.js';
import type { InflightRequest, ResponseSink } from '../../core/response-sink.js';
import { RequestSharedMemory } from '../../core/shared-memory/request-shared-memory.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { classifyOutputs } from '../../protocol/classification.js';
import type { HeaderForwarding } from '../../protocol/header-forwarding.js';
import {
  answerCoding,
  compressBody,
  inflateBody,
  maxCompressedSize,
  REQUEST_CODINGS,
  requestCoding,
} from '../../protocol/http/content-coding.js';
import {
  checkJsonSize,
  decodeInferRequest,
  type DecodedInferRequest,
} from '../../protocol/http/decode-infer-request.js';
import { encodeInferResponse, type EncodedInferResponse } from '../../protocol/http/encode-infer-response.js';
import { parseHeaderLength } from '../../protocol/http/header-length.js';
import type { BinaryFraming } from './binary-framing.js';
import { headerTexts, traceContextOf } from './header-texts.js';
import type { HttpExchange } from './http-exchange.js';
import type { PendingWork } from './pending-work.js';
import { declaredLength, MAX_BODY_BYTES, receiveBody } from './receive-body.js';
import type { Route } from './routes.js';

export interface InferHandlerOptions {
  readonly server: InferenceServer;
  /** Largest JSON part of a request in bytes, and largest compressed request once it is inflated. */
  readonly maxInputSize: number;
  /** Which headers become parameters. */
  readonly forwarding: HeaderForwarding | undefined;
  /** Answers that are being compressed. */
  readonly pending: PendingWork;
  /** How messages with binary tensors say where their JSON ends. */
  readonly framing: BinaryFraming;
}

/** Throws what is wrong before the body is read; everything later is answered. */
export function handleInfer(exchange: HttpExchange, route: Route, options: InferHandlerOptions): void {
  const { server, maxInputSize } = options;
  const { headers } = exchange.request;
  const config = server.modelConfig(route.model, route.version);
  if (config.decoupled) {
    throw new TritonError('UNSUPPORTED', "HTTP end point doesn't support models with decoupled transaction policy");
  }
  let coding;
  try {
    coding = requestCoding(headers['content-encoding']);
  } catch (error) {
    exchange.answerError(TritonError.from(error), ['Accept-Encoding', REQUEST_CODINGS]);
    return;
  }
  const headerLength = options.framing.headerLength(headers);
  const refused = (error: TritonError) => {
    // Reading the rest only to drop it could take forever.
    exchange.connection.closeWhenAnswered();
    exchange.answerError(error);
  };
  const received = (body: Buffer) => run(exchange, options, { config, route, body, headerLength });
  if (coding !== 'identity') {
    receiveBody(exchange, maxCompressedSize(maxInputSize), {
      received: (compressed) => {
        inflateBody(compressed, maxInputSize).then(received, (error: unknown) => {
          exchange.answerError(TritonError.from(error));
        });
      },
      refused,
    });
    return;
  }
  const length = declaredLength(exchange);
  if (length !== undefined && length <= MAX_BODY_BYTES)
    checkJsonSize(parseHeaderLength(headerLength, length), maxInputSize);
  // Of a chunked body without binary data everything is JSON.
  const limit = length === undefined && headerLength === undefined ? maxInputSize : MAX_BODY_BYTES;
  receiveBody(exchange, limit, { received, refused });
}

interface ReceivedRequest {
  readonly config: CompleteModelConfig;
  readonly route: Route;
  readonly body: Buffer;
  readonly headerLength: string | undefined;
}

function run(exchange: HttpExchange, options: InferHandlerOptions, received: ReceivedRequest): void {
  const { server, maxInputSize, forwarding, pending, framing } = options;
  const { config, route, body, headerLength } = received;
  const sharedMemory = new RequestSharedMemory(server.sharedMemory);
  sharedMemory.copiesInputs = config.responseCache;
  try {
    const modelVersion = route.version;
    const decoded = decodeInferRequest({ config, modelVersion, body, headerLength, maxInputSize, sharedMemory });
    const parameters = forwarding?.forward(headerTexts(exchange.request.rawHeaders), decoded.request.parameters);
    let request = forwarding === undefined ? decoded.request : { ...decoded.request, parameters };
    if (server.traces) request = { ...request, traceContext: traceContextOf(exchange.request.headers) };
    const sink = new HttpResponseSink(exchange, { config, decoded, sharedMemory, pending, framing });
    sink.started(server.infer(request, sink));
  } catch (error) {
    sharedMemory.release();
    exchange.answerError(TritonError.from(error));
  }
}

const JSON_ANSWER: readonly string[] = ['Content-Type', 'application/json'];

interface AnswerForm {
  readonly config: CompleteModelConfig;
  readonly decoded: DecodedInferRequest;
  readonly sharedMemory: RequestSharedMemory;
  readonly pending: PendingWork;
  readonly framing: BinaryFraming;
}

class HttpResponseSink implements ResponseSink {
  readonly #exchange: HttpExchange;
  readonly #form: AnswerForm;
  #inflight: InflightRequest | undefined;
  #ended = false;

  constructor(exchange: HttpExchange, form: AnswerForm) {
    this.#exchange = exchange;
    this.#form = form;
  }

  started(inflight: InflightRequest): void {
    if (this.#ended) return;
    this.#inflight = inflight;
    this.#exchange.connection.started(inflight);
  }

  respond(answer: ModelInferResponse): void {
    const { config, decoded, sharedMemory, pending } = this.#form;
    let encoded;
    try {
      const { classes, binaryOutputs } = decoded;
      const response = sharedMemory.deliver(answer);
      const outputs = classes === undefined ? response.outputs : classifyOutputs(response.outputs, classes, config);
      encoded = encodeInferResponse({ ...response, outputs }, binaryOutputs);
      this.#end();
    } catch (error) {
      this.#end();
      this.#exchange.answerError(TritonError.from(error));
      return;
    }
    const coding = answerCoding(this.#exchange.request.headers['accept-encoding']);
    if (coding === 'identity') {
      this.#answer(encoded, []);
      return;
    }
    const done = pending.begin();
    compressBody(encoded.parts, coding, (body) => {
      if (body === undefined) this.#answer(encoded, []);
      else this.#answer({ ...encoded, parts: [body], contentLength: body.length }, ['Content-Encoding', coding]);
      done();
    });
  }

  #answer({ headerLength, parts, contentLength }: EncodedInferResponse, further: readonly string[]): void {
    const { framing } = this.#form;
    const type = headerLength === undefined ? JSON_ANSWER : framing.answerHeaders(headerLength);
    const headers = [...type, 'Content-Length', String(contentLength), ...further];
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
    this.#ended = true;
    this.#form.sharedMemory.release();
    if (this.#inflight !== undefined) this.#exchange.connection.done(this.#inflight);
  }
}
