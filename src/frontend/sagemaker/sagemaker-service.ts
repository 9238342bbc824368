// The port that SageMaker calls: health at /ping and the inference of one model at /invocations (server/src/sagemaker_server.cc).
// Multi-model endpoints are not served: their models come as archives, and ours are functions that a program binds.

import { TritonError } from '../../errors.js';
import type { HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import { contentTypeFraming } from '../http/binary-framing.js';
import { answerEmpty, answerJson } from '../http/answers.js';
import { type Endpoint, ENDPOINTS, Endpoints, type EndpointsOptions, type Route } from '../http/endpoints.js';
import type { PortService } from '../http/http-frontend.js';
import { pathOf, routeTo } from '../http/routes.js';

/** The kind of inference behind /invocations. */
export type SagemakerInferenceType = 'infer' | 'generate' | 'generate_stream';

export interface SagemakerServiceOptions extends Pick<EndpointsOptions, 'server' | 'maxInputSize' | 'restrictions'> {
  /** Whether /ping asks if the server is ready, or if it is live. */
  readonly pingMode: 'ready' | 'live';
  /** The model that /invocations runs. */
  readonly defaultModel: string;
  readonly inferenceType: SagemakerInferenceType;
}

const BINARY_TYPE = 'application/vnd.sagemaker-triton.binary+json;json-header-size=';
const MULTI_MODEL = /^\/models(?:\/.*)?$/;
const ENDPOINT_OF = {
  infer: 'infer',
  generate: 'generate',
  generate_stream: 'generate stream',
} as const satisfies Record<SagemakerInferenceType, Endpoint>;

export class SagemakerService implements PortService {
  readonly name = 'Sagemaker HTTPService';
  readonly #endpoints: Endpoints;
  readonly #ping: Route;
  readonly #invocations: Route;

  constructor(options: SagemakerServiceOptions) {
    const { pingMode, defaultModel } = options;
    this.#endpoints = new Endpoints({ ...options, framing: contentTypeFraming(BINARY_TYPE) });
    this.#ping = routeTo(pingMode);
    this.#invocations = routeTo(ENDPOINT_OF[options.inferenceType], defaultModel);
  }

  handler(request: HttpRequest): ServeRequest {
    const path = pathOf(request.target);
    if (MULTI_MODEL.test(path)) {
      throw new TritonError(
        'UNSUPPORTED',
        'multi-model endpoints of SageMaker are not supported: models are functions that were bound, not archives',
      );
    }
    const route = path === '/ping' ? this.#ping : path === '/invocations' ? this.#invocations : undefined;
    if (route === undefined) return (exchange) => answerEmpty(exchange, 400);
    const refusal = this.#endpoints.refusal(request, route);
    if (refusal !== undefined) return refusal;
    const methods: readonly string[] = ENDPOINTS[route.endpoint].methods;
    if (methods.includes(request.method)) return this.#endpoints.handler(request, route);
    const allow = ['Allow', methods.join(', ')];
    return (exchange) => answerJson(exchange, 405, { error: 'Method Not Allowed' }, allow);
  }
}
