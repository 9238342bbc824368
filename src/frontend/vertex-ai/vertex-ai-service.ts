// The port that Vertex AI calls (server/src/vertex_ai_server.cc). One route serves predictions of one model; a header may
// redirect a request to any endpoint of the HTTP protocol. Another route serves health. Vertex AI sends everything as POST,
// whatever the endpoint's method.

import { invalidArg, TritonError } from '../../errors.js';
import type { HttpExchange, HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import { contentTypeFraming, HEADER_FRAMING, type BinaryFraming } from '../http/binary-framing.js';
import { answerEmpty, answerJson } from '../http/answers.js';
import { type Endpoint, Endpoints, type EndpointsOptions, type Route } from '../http/endpoints.js';
import type { PortService } from '../http/http-frontend.js';
import { matchRoute, pathOf, routeTo } from '../http/routes.js';
import { answerMetrics, type MetricsText } from '../metrics/metrics-service.js';
import { type Later, type ServedCore, whenHere } from '../served-core.js';

export interface VertexAiServiceOptions extends Pick<EndpointsOptions, 'server' | 'maxInputSize' | 'restrictions'> {
  /** Paths, as Vertex AI gives them in `AIP_PREDICT_ROUTE` and `AIP_HEALTH_ROUTE`. */
  readonly predictRoute: string;
  readonly healthRoute: string;
  /** The model for predictions. Default: the only loaded model. */
  readonly defaultModel: string | undefined;
  /** The metrics, which this port serves too, beside their own port; undefined when they are off. */
  readonly metrics: MetricsText | undefined;
}

const REDIRECT = 'x-vertex-ai-triton-redirect';
const BINARY_TYPE = 'application/vnd.vertex-ai-triton.binary+json;json-header-size=';
/** Vertex AI passes on this header of answers but not of requests. Triton answers with it. */
const FRAMING: BinaryFraming = {
  ...contentTypeFraming(BINARY_TYPE),
  answerHeaders: (length) => HEADER_FRAMING.answerHeaders(length),
};
/** Endpoints that Triton does not redirect requests to. */
const NOT_REDIRECTED: readonly Endpoint[] = ['trace', 'logging', 'generate', 'generate stream'];
const HEALTH = routeTo('ready');

export class VertexAiService implements PortService {
  readonly name = 'Vertex AI HTTPService';
  readonly #server: ServedCore;
  readonly #endpoints: Endpoints;
  readonly #predictRoute: string;
  readonly #healthRoute: string;
  readonly #metrics: VertexAiServiceOptions['metrics'];
  #model: string | undefined;

  constructor(options: VertexAiServiceOptions) {
    this.#server = options.server;
    this.#predictRoute = options.predictRoute;
    this.#healthRoute = options.healthRoute;
    this.#metrics = options.metrics;
    this.#model = options.defaultModel;
    this.#endpoints = new Endpoints({ ...options, framing: FRAMING });
  }

  /** Called when the models are loaded. Throws INVALID_ARG, as Triton does, when the model for predictions is unclear. */
  started(): Later<void> {
    return whenHere(this.#server.models.index(true), (index) => this.#choose(new Set(index.map(({ name }) => name))));
  }

  #choose(ready: ReadonlySet<string>): void {
    if (this.#model === undefined) {
      if (ready.size !== 1) {
        throw invalidArg('Expect the model repository contains only a single model if default model is not specified');
      }
      [this.#model] = ready;
    } else if (!ready.has(this.#model)) {
      throw invalidArg(`Expect the default model '${this.#model}' is loaded`);
    }
  }

  handler(request: HttpRequest): ServeRequest {
    const { method } = request;
    const path = pathOf(request.target);
    if (path === this.#healthRoute) return this.#routed(request, HEALTH, method === 'GET');
    if (path !== this.#predictRoute) return answerBadRequest;
    const redirect = request.header(REDIRECT);
    if (redirect !== undefined) return this.#redirected(request, `/${redirect}`, method === 'POST');
    if (this.#model === undefined) throw new TritonError('UNAVAILABLE', 'Server not ready');
    return this.#routed(request, routeTo('infer', this.#model), method === 'POST');
  }

  #redirected(request: HttpRequest, path: string, allowed: boolean): ServeRequest {
    const metrics = this.#metrics;
    if (allowed && path === '/metrics' && metrics !== undefined) return (exchange) => answerMetrics(exchange, metrics);
    const route = matchRoute(path);
    if (allowed && (route === undefined || NOT_REDIRECTED.includes(route.endpoint))) return answerBadRequest;
    return this.#routed(request, route ?? HEALTH, allowed);
  }

  #routed(request: HttpRequest, route: Route, allowed: boolean): ServeRequest {
    const refusal = this.#endpoints.refusal(request, route);
    if (refusal !== undefined) return refusal;
    if (allowed) return this.#endpoints.handler(request, route);
    return (exchange) => answerJson(exchange, 405, { error: 'Method Not Allowed' });
  }
}

function answerBadRequest(exchange: HttpExchange): void {
  answerEmpty(exchange, 400);
}
