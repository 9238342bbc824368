// The port that Vertex AI calls: a route for predictions of one model, which a header may send on to any endpoint of
// the HTTP protocol, and a route for health (server/src/vertex_ai_server.cc). All that Vertex AI sends is POST, whatever
// method the endpoint has.

import { TritonError } from '../../errors.js';
import { contentTypeFraming } from '../http/binary-framing.js';
import { HttpEndpoints, type HttpEndpointsOptions } from '../http/http-endpoints.js';
import type { HttpExchange } from '../http/http-exchange.js';
import type { PortService } from '../http/http-port.js';
import { matchRoute, pathOf, type Endpoint, type Route, routeTo } from '../http/routes.js';
import { answerMetrics, type MetricsText } from '../metrics/metrics-service.js';
import { whenHere, type Later, type ServedCore } from '../served-core.js';

export interface VertexAiServiceOptions extends Pick<HttpEndpointsOptions, 'server' | 'maxInputSize' | 'restrictions'> {
  /** Paths, as Vertex AI gives them in `AIP_PREDICT_ROUTE` and `AIP_HEALTH_ROUTE`. */
  readonly predictRoute: string;
  readonly healthRoute: string;
  /** The model that predictions are of; without it the only one that is loaded. */
  readonly defaultModel: string | undefined;
  /** The metrics, which have a port of their own but are reached through this one too; undefined when they are off. */
  readonly metrics: MetricsText | undefined;
}

const REDIRECT = 'x-vertex-ai-triton-redirect';
const BINARY_TYPE = 'application/vnd.vertex-ai-triton.binary+json;json-header-size=';
/** Where Triton does not send requests on to. */
const NOT_REDIRECTED: readonly Endpoint[] = ['trace', 'logging', 'generate', 'generate stream'];
const HEALTH = routeTo('ready');

export class VertexAiService implements PortService {
  readonly name = 'Vertex AI HTTPService';
  readonly #server: ServedCore;
  readonly #endpoints: HttpEndpoints;
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
    this.#endpoints = new HttpEndpoints({ ...options, framing: contentTypeFraming(BINARY_TYPE) });
  }

  /** The models are loaded. Throws INVALID_ARG, as Triton does, when none of them is clearly the one to predict with. */
  started(): Later<void> {
    return whenHere(this.#server.models.index(true), (index) => this.#choose(new Set(index.map(({ name }) => name))));
  }

  #choose(ready: ReadonlySet<string>): void {
    if (this.#model === undefined) {
      if (ready.size !== 1) {
        throw new TritonError(
          'INVALID_ARG',
          'Expect the model repository contains only a single model if default model is not specified',
        );
      }
      [this.#model] = ready;
    } else if (!ready.has(this.#model)) {
      throw new TritonError('INVALID_ARG', `Expect the default model '${this.#model}' is loaded`);
    }
  }

  close(): Promise<void> {
    return this.#endpoints.done();
  }

  answer(exchange: HttpExchange): void {
    const { request } = exchange;
    const { method } = request;
    const path = pathOf(request.target);
    if (path === this.#healthRoute) {
      this.#answerRoute(exchange, HEALTH, method === 'GET');
      return;
    }
    if (path !== this.#predictRoute) {
      exchange.answerEmpty(400);
      return;
    }
    const redirect = request.header(REDIRECT);
    if (redirect === undefined) {
      if (this.#model === undefined) throw new TritonError('UNAVAILABLE', 'Server not ready');
      this.#answerRoute(exchange, routeTo('infer', this.#model), method === 'POST');
    } else {
      this.#redirect(exchange, `/${redirect}`, method === 'POST');
    }
  }

  #redirect(exchange: HttpExchange, path: string, allowed: boolean): void {
    if (allowed && path === '/metrics' && this.#metrics !== undefined) {
      answerMetrics(exchange, this.#metrics);
      return;
    }
    const route = matchRoute(path);
    if (allowed && (route === undefined || NOT_REDIRECTED.includes(route.endpoint))) exchange.answerEmpty(400);
    else this.#answerRoute(exchange, route ?? HEALTH, allowed);
  }

  #answerRoute(exchange: HttpExchange, route: Route, allowed: boolean): void {
    if (this.#endpoints.refuseRestricted(exchange, route)) return;
    if (allowed) this.#endpoints.answer(exchange, route);
    else exchange.answerJson(405, { error: 'Method Not Allowed' });
  }
}
