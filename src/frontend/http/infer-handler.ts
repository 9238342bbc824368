// POST …/infer: checks in Triton's order (server/src/http_server.cc, HandleInfer), decodes the body, hands the request
// to the core, and writes what the core answers.

import type { InferenceServer } from '../../core/inference-server.js';
import type { InflightRequest, ResponseSink } from '../../core/response-sink.js';
import { RequestSharedMemory } from '../../core/shared-memory/request-shared-memory.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferRequest, ModelInferResponse } from '../../model/exchange.js';
import { startPaced, type PacedRun, type PacedWork } from '../../model/paced-work.js';
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
import {
  byteLengthOf,
  encodeInferResponse,
  type EncodedInferResponse,
} from '../../protocol/http/encode-infer-response.js';
import { parseHeaderLength } from '../../protocol/http/header-length.js';
import { Stages } from '../stages.js';
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
  const { server, maxInputSize, pending, framing } = options;
  const { config, route, body, headerLength } = received;
  const sharedMemory = new RequestSharedMemory(server.sharedMemory);
  sharedMemory.copiesInputs = config.responseCache;
  const stages = new Stages();
  exchange.connection.started(stages);
  const end = () => {
    stages.end();
    sharedMemory.release();
    exchange.connection.done(stages);
  };
  const refuse = (error: unknown) => {
    end();
    exchange.answerError(TritonError.from(error));
  };
  const modelVersion = route.version;
  const decoding = decodeInferRequest({ config, modelVersion, body, headerLength, maxInputSize, sharedMemory });
  // A server that stops waits for it.
  const decodedAll = pending.begin();
  const infer = (decoded: DecodedInferRequest) => {
    const request = completeRequest(exchange, options, decoded.request);
    const sink = new HttpResponseSink(exchange, { config, decoded, sharedMemory, pending, framing, stages, end });
    stages.begin(() => server.infer(request, sink));
  };
  stages.begin(() =>
    cancelling(
      startPaced(decoding, {
        done(decoded) {
          try {
            infer(decoded);
          } catch (error) {
            refuse(error);
          }
          decodedAll();
        },
        failed(error) {
          refuse(error);
          decodedAll();
        },
      }),
      () => {
        sharedMemory.release();
        decodedAll();
      },
    ),
  );
}

/** What cancels paced work and lets go of what it used. */
function cancelling(run: PacedRun | undefined, release: () => void): InflightRequest | undefined {
  return (
    run && {
      cancel() {
        run.cancel();
        release();
      },
    }
  );
}

/** The request with what its headers add. Throws INVALID_ARG for headers that cannot be forwarded. */
function completeRequest(
  { request: { headers, rawHeaders } }: HttpExchange,
  { server, forwarding }: InferHandlerOptions,
  decoded: ModelInferRequest,
): ModelInferRequest {
  const parameters = forwarding?.forward(headerTexts(rawHeaders), decoded.parameters);
  const request = forwarding === undefined ? decoded : { ...decoded, parameters };
  return server.traces ? { ...request, traceContext: traceContextOf(headers) } : request;
}

const JSON_ANSWER: readonly string[] = ['Content-Type', 'application/json'];

interface AnswerForm {
  readonly config: CompleteModelConfig;
  readonly decoded: DecodedInferRequest;
  readonly sharedMemory: RequestSharedMemory;
  readonly pending: PendingWork;
  readonly framing: BinaryFraming;
  readonly stages: Stages;
  /** The request has ended: it has its answer, or will never have one. */
  readonly end: () => void;
}

class HttpResponseSink implements ResponseSink {
  readonly #exchange: HttpExchange;
  readonly #form: AnswerForm;

  constructor(exchange: HttpExchange, form: AnswerForm) {
    this.#exchange = exchange;
    this.#form = form;
  }

  respond(answer: ModelInferResponse): void {
    const { pending, stages, sharedMemory, end } = this.#form;
    const done = pending.begin();
    const release = () => {
      sharedMemory.release();
      done();
    };
    const encoding = {
      done: (encoded: EncodedInferResponse) => {
        end();
        this.#compress(encoded, done);
      },
      failed: (error: unknown) => {
        this.fail(TritonError.from(error));
        done();
      },
    };
    stages.begin(() => cancelling(startPaced(this.#encode(answer), encoding), release));
  }

  *#encode(answer: ModelInferResponse): PacedWork<EncodedInferResponse> {
    const { config, decoded, sharedMemory } = this.#form;
    const { classes, binaryOutputs } = decoded;
    const response = yield* sharedMemory.deliver(answer);
    const outputs =
      classes === undefined ? response.outputs : yield* classifyOutputs(response.outputs, classes, config);
    return yield* encodeInferResponse({ ...response, outputs }, binaryOutputs);
  }

  /** `done` is called when the answer is on its way. */
  #compress(encoded: EncodedInferResponse, done: () => void): void {
    const coding = answerCoding(this.#exchange.request.headers['accept-encoding']);
    if (coding === 'identity') {
      this.#answer(encoded, []);
      done();
      return;
    }
    compressBody(encoded.parts, coding, (parts) => {
      if (parts === undefined) this.#answer(encoded, []);
      else this.#answer({ ...encoded, parts, contentLength: byteLengthOf(parts) }, ['Content-Encoding', coding]);
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
    this.#form.end();
    this.#exchange.answerError(error);
  }
}
