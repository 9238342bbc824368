// POST …/infer: checks in Triton's order (server/src/http_server.cc, HandleInfer), decodes the body, hands the request
// to the core, and writes what the core answers.

import type { ResolvedModel } from '../../core/model-entry.js';
import { TritonError } from '../../errors.js';
import type { HttpHeaders } from '../../http1/http-exchange.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { startPaced } from '../../model/paced-workers.js';
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
  type CompleteInferRequest,
  decodeInferRequest,
  type InferBody,
} from '../../protocol/http/decode-infer-request.js';
import {
  byteLengthOf,
  type EncodedInferResponse,
  encodeInferResponse,
} from '../../protocol/http/encode-infer-response.js';
import { parseHeaderLength } from '../../protocol/http/header-length.js';
import type { KnownHeaders } from '../../protocol/http/known-headers.js';
import { largeMemory } from '../../sockets/large-memory.js';
import { completeRequest, type InferOptions } from '../complete-request.js';
import { Inference } from '../inference.js';
import type { BinaryFraming } from './binary-framing.js';
import { headerTexts, type HttpExchange } from './http-exchange.js';
import type { PendingWork } from './pending-work.js';
import { MAX_BODY_BYTES, receiveBody, TRY_AGAIN } from './receive-body.js';
import type { Route } from './routes.js';

export interface InferHandlerOptions extends InferOptions {
  /** Largest JSON part of a request in bytes, and largest compressed request once it is inflated. */
  readonly maxInputSize: number;
  /** Requests that are being decoded, and answers that are being encoded. */
  readonly pending: PendingWork;
  /** How messages with binary tensors say where their JSON ends. */
  readonly framing: BinaryFraming;
  /** Headers of binary requests that need not be parsed again. */
  readonly known: KnownHeaders;
}

/** Throws what is wrong before the body is read; everything later is answered. */
export function handleInfer(exchange: HttpExchange, route: Route, options: InferHandlerOptions): void {
  const { server, maxInputSize, known } = options;
  const { request } = exchange;
  const resolve = () => {
    const model = server.resolve(route.model, route.version);
    if (!model.config.decoupled) return model;
    throw new TritonError('UNSUPPORTED', "HTTP end point doesn't support models with decoupled transaction policy");
  };
  // Asked for its refusals: the model may be another one when the body is here.
  resolve();
  let coding;
  try {
    coding = requestCoding(request.header('content-encoding'));
  } catch (error) {
    exchange.answerError(TritonError.from(error), ['Accept-Encoding', REQUEST_CODINGS]);
    return;
  }
  const headerLength = options.framing.headerLength(request);
  const received = (body: Buffer) => {
    run(exchange, { modelVersion: route.version, body, headerLength, maxInputSize, known, resolve }, options);
  };
  if (coding !== 'identity') {
    receiveBody(exchange, { limit: maxCompressedSize(maxInputSize) }, (compressed) => {
      const hold = (bytes: number) => request.hold(bytes);
      inflateBody(compressed, { maxSize: Math.min(maxInputSize, request.largestBody), hold }).then(
        received,
        (thrown: unknown) => {
          const error = TritonError.from(thrown);
          exchange.answerError(error, error.code === 'UNAVAILABLE' ? TRY_AGAIN : []);
        },
      );
    });
    return;
  }
  const length = request.bodyLength;
  let tensorsAt = 0;
  if (length !== undefined && length <= MAX_BODY_BYTES) {
    tensorsAt = parseHeaderLength(headerLength, length);
    checkJsonSize(tensorsAt, maxInputSize);
  }
  // Of a chunked body without binary data everything is JSON.
  const limit = length === undefined && headerLength === undefined ? maxInputSize : MAX_BODY_BYTES;
  receiveBody(exchange, { limit, tensorsAt }, received);
}

interface ReceivedRequest extends InferBody {
  readonly resolve: () => ResolvedModel;
}

function run(exchange: HttpExchange, received: ReceivedRequest, options: InferHandlerOptions): void {
  const { request, answer } = exchange;
  if (answer.aborted) return;
  const { server, forwarding, pending } = options;
  const inference = new Inference<CompleteInferRequest>(server, {
    write(response, { binaryOutputs }, stages) {
      const encoding = pending.during(encodeInferResponse(response, binaryOutputs));
      stages.begin(() =>
        startPaced(encoding, {
          done(encoded) {
            stages.end();
            compress(exchange, encoded, response.memory, options);
          },
          failed: (error) => exchange.answerError(TritonError.from(error)),
        }),
      );
    },
    fail: (error) => exchange.answerError(error),
  });
  const rules = { server, forwarding, protocol: 'HTTP', texts: headerTexts, resolve: received.resolve } as const;
  inference.begin(pending.during(completeRequest(decodeInferRequest(received), request, rules)));
  answer.onAbort(() => inference.cancel());
}

function compress(
  exchange: HttpExchange,
  encoded: EncodedInferResponse,
  memory: ModelInferResponse['memory'],
  { pending, framing }: InferHandlerOptions,
): void {
  const answer = ({ headerLength, parts, contentLength }: EncodedInferResponse, further: HttpHeaders = []) => {
    const type = headerLength === undefined ? JSON_ANSWER : framing.answerHeaders(headerLength);
    exchange.answer.respond(200, [...type, 'Content-Length', String(contentLength), ...further], parts);
  };
  const coding = answerCoding(exchange.request.header('accept-encoding'));
  if (coding === 'identity') {
    if (memory !== undefined) largeMemory.lend(memory, encoded.parts);
    answer(encoded);
    return;
  }
  const done = pending.begin();
  compressBody(encoded.parts, coding, (parts) => {
    if (parts === undefined) answer(encoded);
    else answer({ ...encoded, parts, contentLength: byteLengthOf(parts) }, ['Content-Encoding', coding]);
    done();
  });
}

const JSON_ANSWER: HttpHeaders = ['Content-Type', 'application/json'];
