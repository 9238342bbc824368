// POST …/infer: checks in Triton's order (server/src/http_server.cc, HandleInfer), decodes the body, hands the request
// to the core, and writes the core's answer.

import type { ResolvedModel } from '../../core/model-entry.js';
import { TritonError } from '../../errors.js';
import type { BodyPlan, HttpExchange, HttpHeaders, HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import { aloneInMemory, type ModelInferResponse } from '../../model/exchange.js';
import type { PacedEnd } from '../../pacing/paced-workers.js';
import {
  answerCoding,
  type ContentCoding,
  maxCompressedSize,
  REQUEST_CODINGS,
  requestCoding,
} from '../../protocol/http/content-coding.js';
import {
  checkJsonSize,
  type CompleteInferRequest,
  decodeInferRequest,
} from '../../protocol/http/decode-infer-request.js';
import {
  byteLengthOf,
  type EncodedInferResponse,
  encodeInferResponse,
} from '../../protocol/http/encode-infer-response.js';
import { parseHeaderLength } from '../../protocol/http/header-length.js';
import type { RequestForm } from '../../protocol/request-form.js';
import { completeRequest, readBody, type RequestRules } from '../complete-request.js';
import { type AnswerWriter, Inference, type Stages } from '../inference.js';
import { answerError } from './answers.js';
import { compressAnswer, inflateRequest } from './coded-bodies.js';
import type { EndpointContext, EndpointTarget } from './endpoint-handler.js';
import { type EndpointLoad, endpointLoad } from './endpoint-load.js';
import { headerTexts } from './header-texts.js';

/** Bodies beyond this size are refused, whatever they contain. */
const MAX_BODY_BYTES = 2 ** 31;

/** What the headers of a request tell about its body and its answer. */
interface InferHead {
  readonly coding: ContentCoding;
  readonly answerCoding: ContentCoding;
  /** The length of the JSON, as the header gives it; undefined without the header. */
  readonly headerLength: string | undefined;
  /** Limit for the body as it arrives, which may be compressed. */
  readonly limit: number;
  /** The length of the JSON, at whose end the binary tensors begin; undefined if the head alone does not give it. */
  readonly jsonLength: number | undefined;
  readonly endpointLoad: EndpointLoad | undefined;
}

/** What all requests with one head have in common. */
interface InferSurroundings {
  readonly context: EndpointContext;
  readonly target: EndpointTarget;
  readonly rules: RequestRules<RequestForm<CompleteInferRequest>>;
}

/** The handler throws errors in the head before the body is read. It answers everything later itself. */
export function inferHandler(request: HttpRequest, target: EndpointTarget, context: EndpointContext): ServeRequest {
  const { server, forwarding } = context;
  let model: ResolvedModel;
  const find = () => {
    model = server.resolve(target.model, target.version);
    if (!model.config.decoupled) return model;
    throw new TritonError('UNSUPPORTED', "HTTP end point doesn't support models with decoupled transaction policy");
  };
  const resolve = () => (model.isServed ? model : find());
  const rules = { server, forwarding, protocol: 'HTTP', texts: headerTexts, resolve } as const;
  const surroundings: InferSurroundings = { context, target, rules };
  let head: InferHead | undefined;
  return (exchange) => {
    // Called for its refusals only. Another model may have replaced this one when the body is here.
    find();
    if (head === undefined) {
      let coding;
      try {
        coding = requestCoding(request.header('content-encoding'));
      } catch (error) {
        answerError(exchange, error, ['Accept-Encoding', REQUEST_CODINGS]);
        return;
      }
      head = readHead(request, coding, context);
    }
    exchange.receiveBody(new InferRequest(exchange, head, surroundings));
  };
}

/** Reads the headers. Throws the error in them, if any. */
function readHead(request: HttpRequest, coding: ContentCoding, { framing, maxInputSize }: EndpointContext): InferHead {
  const headerLength = framing.headerLength(request);
  const length = request.bodyLength;
  const isPlain = coding === 'identity';
  let jsonLength: number | undefined;
  if (isPlain && length !== undefined && length <= MAX_BODY_BYTES) {
    jsonLength = parseHeaderLength(headerLength, length);
    checkJsonSize(jsonLength, maxInputSize);
  }
  // A chunked body without binary data is all JSON.
  const isJson = length === undefined && headerLength === undefined;
  return {
    coding,
    answerCoding: answerCoding(request.header('accept-encoding')),
    headerLength,
    limit: !isPlain ? maxCompressedSize(maxInputSize) : isJson ? maxInputSize : MAX_BODY_BYTES,
    jsonLength,
    endpointLoad: endpointLoad(request),
  };
}

/** One request, from the arrival of its body to its answer. */
class InferRequest implements BodyPlan, AnswerWriter<CompleteInferRequest>, PacedEnd<EncodedInferResponse> {
  readonly limit: number;
  readonly alignedAt: number;
  readonly #exchange: HttpExchange;
  readonly #head: InferHead;
  readonly #surroundings: InferSurroundings;
  #stages: Stages | undefined;
  /** The memory of the answer, which the connection may reuse. */
  #memory: ModelInferResponse['memory'];

  constructor(exchange: HttpExchange, head: InferHead, surroundings: InferSurroundings) {
    this.limit = head.limit;
    this.alignedAt = head.jsonLength ?? 0;
    this.#exchange = exchange;
    this.#head = head;
    this.#surroundings = surroundings;
  }

  onBody(body: Buffer): void {
    if (this.#head.coding === 'identity') this.#run(aloneInMemory(body));
    else inflateRequest(this.#exchange, body, this.#surroundings.context, (inflated) => this.#run(inflated));
  }

  #run(body: Buffer): void {
    const exchange = this.#exchange;
    if (exchange.aborted) return;
    const { target, context, rules } = this.#surroundings;
    const { maxInputSize, known, server } = context;
    const { headerLength } = this.#head;
    // A body that came through somebody else's server may have another length than its head says.
    const jsonLength = body.length === exchange.request.bodyLength ? this.#head.jsonLength : undefined;
    const inference = new Inference<CompleteInferRequest>(server, this);
    const given = { modelVersion: target.version, body, headerLength, jsonLength, maxInputSize, known };
    const decoding = decodeInferRequest(given);
    inference.start(readBody(body, completeRequest(decoding, exchange.request, rules)));
    exchange.onAbort(() => inference.cancel());
  }

  // For the inference.

  write(response: ModelInferResponse, { binaryOutputs }: CompleteInferRequest, stages: Stages): void {
    this.#stages = stages;
    this.#memory = response.memory;
    stages.pace(encodeInferResponse(response, binaryOutputs), this);
  }

  fail(error: TritonError): void {
    answerError(this.#exchange, error);
  }

  // For the encoding.

  done(encoded: EncodedInferResponse): void {
    this.#stages!.end();
    const coding = this.#head.answerCoding;
    if (coding === 'identity') {
      this.#exchange.reusable = this.#memory;
      this.#answer(encoded);
    } else {
      compressAnswer(this.#exchange, encoded.parts, coding, (parts, headers) =>
        this.#answer({ ...encoded, parts, contentLength: byteLengthOf(parts) }, headers),
      );
    }
  }

  failed(error: unknown): void {
    answerError(this.#exchange, error);
  }

  #answer({ headerLength, parts, contentLength }: EncodedInferResponse, further: HttpHeaders = []): void {
    const { context, target } = this.#surroundings;
    const { framing, server } = context;
    const load = this.#head.endpointLoad?.(server, target.model) ?? [];
    const type = headerLength === undefined ? JSON_ANSWER : framing.answerHeaders(headerLength);
    this.#exchange.respond(200, [...type, 'Content-Length', String(contentLength), ...further, ...load], parts);
  }
}

const JSON_ANSWER: HttpHeaders = ['Content-Type', 'application/json'];
