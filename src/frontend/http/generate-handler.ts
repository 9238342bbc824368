// POST …/generate and …/generate_stream: JSON in, and flat JSON out, as one answer or as server-sent events. The model's first
// answer or error decides the status.

import { invalidArg, type TritonError } from '../../errors.js';
import type { HttpExchange, HttpHeaders } from '../../http1/http-exchange.js';
import { decodeGenerateRequest } from '../../protocol/http/decode-generate-request.js';
import { checkJsonSize } from '../../protocol/http/decode-infer-request.js';
import {
  encodeErrorEvent,
  encodeGenerateEvent,
  encodeGenerateResponse,
} from '../../protocol/http/encode-generate-response.js';
import type { CompleteRequest } from '../../protocol/request-form.js';
import { completeRequest, type InferOptions, readBody } from '../complete-request.js';
import { type AnswerWriter, Inference } from '../inference.js';
import { AnswerStream, type StreamFormat } from './answer-stream.js';
import { answerError, answerJsonParts } from './answers.js';
import type { EndpointHandler } from './endpoint-handler.js';
import { endpointLoad } from './endpoint-load.js';
import { headerTexts } from './header-texts.js';

/** The handlers throw errors in the head before the body is read. They answer everything later themselves. */
export function generateHandler(answers: 'once' | 'stream'): EndpointHandler {
  return (request, { model, version }, { server, maxInputSize }) => {
    const resolve = () => server.resolve(model, version);
    const rules = { server, forwarding: undefined, protocol: 'HTTP', texts: headerTexts, resolve } as const;
    const loadOf = endpointLoad(request);
    const load = () => loadOf?.(server, model) ?? [];
    return (exchange) => {
      // Called for its refusals only. Another model may have replaced this one when the body is here.
      resolve();
      const coding = request.header('content-encoding');
      if (coding !== undefined && coding !== 'identity') {
        throw invalidArg("Unsupported content-encoding, only 'identity' is supported.");
      }
      const length = request.bodyLength;
      if (length !== undefined) checkJsonSize(length, maxInputSize);
      const onBody = (body: Buffer) => {
        const decoding = decodeGenerateRequest({ modelVersion: version, body, maxInputSize });
        const completing = completeRequest(decoding, request, rules);
        const generation =
          answers === 'once'
            ? answerOnce(exchange, server, load)
            : new AnswerStream(exchange, server, { ...EVENTS, headers: load });
        exchange.onAbort(() => generation.cancel());
        generation.start(readBody(body, completing));
      };
      exchange.receiveBody({ limit: maxInputSize, alignedAt: 0, onBody });
    };
  };
}

/** Makes the header with the endpoint's load, as it is with the first answer. */
type LoadHeader = () => HttpHeaders;

function answerOnce(
  exchange: HttpExchange,
  server: InferOptions['server'],
  load: LoadHeader,
): Inference<CompleteRequest> {
  const writer: AnswerWriter<CompleteRequest> = {
    write(response, _, stages) {
      stages.pace(encodeGenerateResponse(response), {
        done(parts) {
          stages.end();
          answerJsonParts(exchange, parts, load());
        },
        failed: (error) => answerError(exchange, error),
      });
    },
    fail: (error) => answerError(exchange, error),
  };
  return new Inference(server, writer, notOneAnswer);
}

/** Triton sends this error with status 200. */
function notOneAnswer(): TritonError {
  return invalidArg(
    'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses',
  );
}

/** Triton sends a failure of the model as an event too, whatever the status. */
const EVENTS: StreamFormat = {
  contentType: 'text/event-stream; charset=utf-8',
  encode: encodeGenerateEvent,
  encodeError: encodeErrorEvent,
};
