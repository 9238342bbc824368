// The port that SageMaker calls: health at /ping and the inference of one model at /invocations
// (server/src/sagemaker_server.cc). Models are functions that were bound, so that those of multi-model endpoints, which
// come as archives, are not served.

import { TritonError } from '../../errors.js';
import { contentTypeFraming } from '../http/binary-framing.js';
import { HttpEndpoints, type HttpEndpointsOptions } from '../http/http-endpoints.js';
import type { HttpExchange } from '../http/http-exchange.js';
import type { PortService } from '../http/http-port.js';
import { pathOf, type Endpoint, type Route, routeTo } from '../http/routes.js';

/** What /invocations does. */
export type SagemakerInferenceType = 'infer' | 'generate' | 'generate_stream';

export interface SagemakerServiceOptions extends Pick<
  HttpEndpointsOptions,
  'server' | 'maxInputSize' | 'restrictions'
> {
  /** Whether /ping asks if the server is ready or if it is live. */
  readonly pingMode: 'ready' | 'live';
  /** The model of /invocations. */
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
  readonly #endpoints: HttpEndpoints;
  readonly #ping: Route;
  readonly #invocations: Route;

  constructor(options: SagemakerServiceOptions) {
    const { pingMode, defaultModel } = options;
    this.#endpoints = new HttpEndpoints({ ...options, framing: contentTypeFraming(BINARY_TYPE) });
    this.#ping = routeTo(pingMode);
    this.#invocations = routeTo(ENDPOINT_OF[options.inferenceType], defaultModel);
  }

  close(): Promise<void> {
    return this.#endpoints.done();
  }

  answer(exchange: HttpExchange): void {
    const { target, method } = exchange.request;
    const path = pathOf(target);
    if (MULTI_MODEL.test(path)) {
      throw new TritonError(
        'UNSUPPORTED',
        'multi-model endpoints of SageMaker are not supported: models are functions that were bound, not archives',
      );
    }
    const route = path === '/ping' ? this.#ping : path === '/invocations' ? this.#invocations : undefined;
    if (route === undefined) exchange.answerEmpty(400);
    else if (this.#endpoints.refuseRestricted(exchange, route)) return;
    else if (route.methods.includes(method)) this.#endpoints.answer(exchange, route);
    else exchange.answerJson(405, { error: 'Method Not Allowed' }, ['Allow', route.methods.join(', ')]);
  }
}
