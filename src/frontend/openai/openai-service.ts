// The OpenAI API (https://platform.openai.com/docs/api-reference) over bound models: /v1/models, /v1/chat/completions,
// /v1/completions, /v1/embeddings and /v1/audio/transcriptions. It shares the port of Triton's protocol.

import { lowerCase, trimBlanks } from '../../ascii.js';
import { TritonError } from '../../errors.js';
import type { HttpExchange, HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import type { PacedWork } from '../../pacing/paced-work.js';
import { answerJson, answerLater } from '../http/answers.js';
import { type CorsPolicy, isPreflight } from '../http/cors.js';
import type { EndpointsOptions } from '../http/endpoints.js';
import type { FurtherPaths } from '../http/further-paths.js';
import { pathOf } from '../http/routes.js';
import { Stages } from '../inference.js';
import { RestrictedFeatures } from '../restricted-features.js';
import { type ServedCore, whenHere } from '../served-core.js';
import { decodeGeneration, type GenerationEndpoint, type GenerationRequest } from './decode-generation.js';
import { decodeEmbeddings, Embeddings } from './embeddings.js';
import { Generation } from './generation.js';
import { generationWriter, heldFor } from './generation-writers.js';
import { answerOpenAiError, answerRefusal, FieldError, refusalText } from './openai-errors.js';
import { resolveOpenAi } from './openai-inference.js';
import { matchOpenAiRoute, type OpenAiRoute } from './openai-routes.js';
import { decodeTranscriptions, Transcriptions } from './transcriptions.js';

export class OpenAiService implements FurtherPaths {
  readonly #server: ServedCore;
  readonly #maxInputSize: number;
  readonly #restricted: RestrictedFeatures;
  /** Seconds since 1970. Models say it as the time that they were made. */
  readonly #created = Math.floor(Date.now() / 1000);

  constructor({
    server,
    maxInputSize,
    restrictions = [],
  }: Pick<EndpointsOptions, 'server' | 'maxInputSize' | 'restrictions'>) {
    this.#server = server;
    this.#maxInputSize = maxInputSize;
    this.#restricted = new RestrictedFeatures(restrictions);
  }

  handler(request: HttpRequest, cors: CorsPolicy | undefined): ServeRequest | undefined {
    const path = pathOf(request.target);
    const route = matchOpenAiRoute(path);
    if (route === undefined) return undefined;
    const { method, category } = route;
    if (cors !== undefined && isPreflight(request)) {
      const headers = cors.preflightHeaders([method], request.header('access-control-request-headers'));
      return (exchange) => exchange.respond(204, headers, []);
    }
    const missing = this.#restricted.missing(category, (name) => request.header(name) ?? bearerToken(request));
    if (missing !== undefined) {
      const message = `This API is restricted: send its access token as the API key, or in the header '${missing}'`;
      return (exchange) => answerRefusal(exchange, { status: 401, message, code: 'invalid_api_key' });
    }
    if (request.method !== method) {
      const message = `${path} takes ${method} only, got ${request.method}`;
      return (exchange) =>
        answerRefusal(exchange, { status: 405, message, code: 'method_not_supported', headers: ['Allow', method] });
    }
    return (exchange) => {
      exchange.refusalText = refusalText;
      try {
        this.#serve(route, exchange);
      } catch (error) {
        answerOpenAiError(exchange, error);
      }
    };
  }

  #serve({ endpoint, model }: OpenAiRoute, exchange: HttpExchange): void {
    switch (endpoint) {
      case 'models':
        return this.#listModels(exchange);
      case 'model':
        resolveOpenAi(this.#server, model);
        return answerJson(exchange, 200, this.#described(model));
      case 'embeddings':
        return this.#embed(exchange);
      case 'transcriptions':
        return this.#transcribe(exchange);
      default:
        return this.#generate(endpoint, exchange);
    }
  }

  #generate(endpoint: GenerationEndpoint, exchange: HttpExchange): void {
    const server = this.#server;
    this.#receive(exchange, (body) => decodeGeneration(endpoint, body, this.#maxInputSize), (request) => {
      resolveOpenAi(server, request.model, endpoint);
      holdInputs(exchange, request);
      const writer = generationWriter(endpoint, request, exchange);
      return new Generation(request, { server, headers: exchange.request }, writer);
    }); // prettier-ignore
  }

  #embed(exchange: HttpExchange): void {
    const server = this.#server;
    this.#receive(exchange, (body) => decodeEmbeddings(body, this.#maxInputSize), (request) =>
      new Embeddings(request, { server, headers: exchange.request }, exchange)); // prettier-ignore
  }

  #transcribe(exchange: HttpExchange): void {
    const server = this.#server;
    const type = exchange.request.header('content-type');
    this.#receive(exchange, (body) => decodeTranscriptions(body, type), (request) =>
      new Transcriptions(request, { server, headers: exchange.request }, exchange)); // prettier-ignore
  }

  /** Reads the body, and runs the decoded request. A client that hangs up cancels either. */
  #receive<Request>(
    exchange: HttpExchange,
    decode: (body: Buffer) => PacedWork<Request>,
    run: (request: Request) => { start(): void; cancel(): void },
  ): void {
    const { request } = exchange;
    const limit = this.#maxInputSize;
    const coding = request.header('content-encoding');
    if (coding !== undefined && coding !== 'identity') {
      throw new FieldError('body', `the content encoding '${coding}' is not supported, send the body as it is`);
    }
    const onBody = (body: Buffer) => {
      const decoding = new Stages();
      exchange.onAbort(() => decoding.cancel());
      decoding.pace(decode(body), {
        done: (decoded) => {
          try {
            const running = run(decoded);
            exchange.onAbort(() => running.cancel());
            running.start();
          } catch (error) {
            answerOpenAiError(exchange, error);
          }
        },
        failed: (error) => answerOpenAiError(exchange, error),
      });
    };
    exchange.receiveBody({ limit, tooLarge: 413, alignedAt: 0, onBody });
  }

  #listModels(exchange: HttpExchange): void {
    const listed = whenHere(this.#server.models.index(true), (index) => {
      const names = new Set(index.map(({ name }) => name));
      return { object: 'list', data: [...names].filter((name) => this.#isServed(name)).map((name) => this.#described(name)) };
    }); // prettier-ignore
    answerLater(exchange, listed, answerOpenAiError);
  }

  #isServed(name: string): boolean {
    try {
      return resolveOpenAi(this.#server, name) !== undefined;
    } catch {
      return false;
    }
  }

  #described(id: string): object {
    return { id, object: 'model', created: this.#created, owned_by: this.#server.name };
  }
}

/** Counts the inputs of several choices, which take more memory than the body. Throws when they find no room. */
function holdInputs(exchange: HttpExchange, request: GenerationRequest): void {
  const { inputBytes, choices } = request;
  const { largestBody } = exchange;
  if (choices.length === 1) return;
  if (inputBytes > largestBody) {
    const message = `the inputs of ${choices.length} answers take ${inputBytes} bytes together, at most ${largestBody} are accepted`;
    throw new FieldError('n', message);
  }
  if (!exchange.hold(heldFor(request, exchange))) {
    throw new TritonError('UNAVAILABLE', 'there is no room for the inputs of so many answers: try again later');
  }
}

const BEARER = 'bearer ';

/** The token that clients of the API send as their key. */
function bearerToken(request: HttpRequest): string | undefined {
  const value = request.header('authorization');
  if (value === undefined || lowerCase(value.slice(0, BEARER.length)) !== BEARER) return undefined;
  return trimBlanks(value.slice(BEARER.length));
}
