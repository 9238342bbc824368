// Requests to a model's own route: JSON, form data or a file in, and one plain object out. A decoupled model answers with a stream
// of objects, as server-sent events or, for clients that accept it, as lines of JSON.

import { listElements, lowerCase, trimBlanks } from '../../ascii.js';
import type { ResolvedModel } from '../../core/model-entry.js';
import { TritonError } from '../../errors.js';
import type { HttpExchange, HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import {
  answerCoding,
  type ContentCoding,
  maxCompressedSize,
  REQUEST_CODINGS,
  requestCoding,
} from '../../protocol/http/content-coding.js';
import { byteLengthOf } from '../../protocol/http/encode-infer-response.js';
import { type CompletePlainRequest, decodePlainRequest } from '../../protocol/plain-json/decode-plain-request.js';
import {
  encodePlainError,
  encodePlainResponse,
  EVENT,
  type Framing,
  LINE,
  ONE_ANSWER,
} from '../../protocol/plain-json/encode-plain-response.js';
import { type BodyType, bodyType } from '../../protocol/plain-json/media-type.js';
import type { RequestForm } from '../../protocol/request-form.js';
import { completeRequest, readBody, type RequestRules } from '../complete-request.js';
import { type AnswerWriter, Inference } from '../inference.js';
import { AnswerStream, type StreamFormat, UNBUFFERED } from './answer-stream.js';
import { answerError, answerJsonParts } from './answers.js';
import { compressAnswer, inflateRequest } from './coded-bodies.js';
import type { EndpointContext, EndpointTarget } from './endpoint-handler.js';
import { headerTexts } from './header-texts.js';

/** Smaller answers are sent plain: they fit into one packet, and compression takes longer than all else. */
const LEAST_COMPRESSED = 1000;

/** What the headers say, the same for all requests with one head. */
interface PlainHead {
  readonly type: BodyType;
  readonly coding: ContentCoding;
  readonly answerCoding: ContentCoding;
  readonly format: StreamFormat;
}

/** The handler throws errors in the head before the body is read. It answers everything later itself. */
export function plainHandler(request: HttpRequest, target: EndpointTarget, context: EndpointContext): ServeRequest {
  const { server, maxInputSize, forwarding } = context;
  let model: ResolvedModel | undefined;
  const resolve = () => (model?.isServed === true ? model : (model = server.resolve(target.model, target.version)));
  const rules = { server, forwarding, protocol: 'HTTP', texts: headerTexts, resolve } as const;
  let head: PlainHead | undefined;
  return (exchange) => {
    // Called for its refusals only. Another model may have replaced this one when the body is here.
    const { decoupled } = resolve().config;
    try {
      head ??= readHead(request);
    } catch (error) {
      answerError(exchange, error, ['Accept-Encoding', REQUEST_CODINGS]);
      return;
    }
    const isCoded = head.coding !== 'identity';
    const limit = isCoded ? maxCompressedSize(maxInputSize) : maxInputSize;
    const { bodyLength = 0 } = request;
    if (bodyLength > limit) {
      throw new TritonError('TOO_LARGE', `the body has ${bodyLength} bytes, the limit is ${limit} (httpMaxInputSize)`);
    }
    const plain = new PlainRequest(exchange, { head, target, context, rules, isStream: decoupled });
    exchange.receiveBody({
      limit,
      tooLarge: 413,
      alignedAt: 0,
      onBody: (body) =>
        isCoded
          ? inflateRequest(exchange, body, { maxInputSize, tooLarge: 'TOO_LARGE' }, (inflated) => plain.run(inflated))
          : plain.run(body),
    });
  };
}

function readHead(request: HttpRequest): PlainHead {
  return {
    coding: requestCoding(request.header('content-encoding')),
    type: bodyType(request.header('content-type')),
    answerCoding: answerCoding(request.header('accept-encoding')),
    format: acceptsLines(request.header('accept')) ? LINES : EVENTS,
  };
}

/** The two names of lines of JSON that clients use. */
const LINE_TYPES: ReadonlySet<string> = new Set(['application/x-ndjson', 'application/jsonl']);

function acceptsLines(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  return listElements(lowerCase(accept)).some((range) => LINE_TYPES.has(trimBlanks(range.split(';', 1)[0]!)));
}

const EVENTS: StreamFormat = formatOf('text/event-stream; charset=utf-8', EVENT);
const LINES: StreamFormat = formatOf('application/x-ndjson', LINE);

function formatOf(contentType: string, framing: Framing): StreamFormat {
  return {
    contentType,
    headers: () => UNBUFFERED,
    encode: (response, config) => encodePlainResponse(response, config, framing),
    encodeError: (error) => encodePlainError(error, framing),
    failsAsJson: true,
  };
}

interface PlainSurroundings {
  readonly head: PlainHead;
  readonly target: EndpointTarget;
  readonly context: EndpointContext;
  readonly rules: RequestRules<RequestForm<CompletePlainRequest>>;
  readonly isStream: boolean;
}

/** One request, from the arrival of its body to its answer. */
class PlainRequest {
  readonly #exchange: HttpExchange;
  readonly #surroundings: PlainSurroundings;

  constructor(exchange: HttpExchange, surroundings: PlainSurroundings) {
    this.#exchange = exchange;
    this.#surroundings = surroundings;
  }

  run(body: Buffer): void {
    const exchange = this.#exchange;
    if (exchange.aborted) return;
    const { head, target, context, rules, isStream } = this.#surroundings;
    const { server, maxInputSize } = context;
    const { type, format } = head;
    const decoding = decodePlainRequest({ modelVersion: target.version, body, maxInputSize, type });
    const completing = completeRequest<CompletePlainRequest, RequestForm<CompletePlainRequest>>(
      decoding,
      exchange.request,
      rules,
    );
    const inference = isStream
      ? new AnswerStream(exchange, server, format)
      : new Inference(server, this.#writer(), noStream);
    exchange.onAbort(() => inference.cancel());
    inference.start(readBody(body, completing));
  }

  #writer(): AnswerWriter<CompletePlainRequest> {
    const exchange = this.#exchange;
    const fail = (error: unknown) => answerError(exchange, error);
    return {
      write: (response, { config }, stages) => {
        stages.pace(encodePlainResponse(response, config, ONE_ANSWER), {
          done: (parts) => {
            stages.end();
            this.#answer(parts);
          },
          failed: fail,
        });
      },
      fail,
    };
  }

  #answer(parts: readonly Uint8Array[]): void {
    const coding = this.#surroundings.head.answerCoding;
    const exchange = this.#exchange;
    if (coding === 'identity' || byteLengthOf(parts) < LEAST_COMPRESSED) return answerJsonParts(exchange, parts);
    compressAnswer(exchange, parts, coding, (coded, headers) => answerJsonParts(exchange, coded, headers));
  }
}

/** For a model that was replaced by a decoupled one meanwhile. */
function noStream(): TritonError {
  return new TritonError('UNAVAILABLE', 'the model was replaced by one that gives a stream; send the request again');
}
