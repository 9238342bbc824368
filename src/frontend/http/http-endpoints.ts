// The endpoints of the HTTP/REST protocol, answered from the core. What path led to them is the business of the caller.

import { TritonError } from '../../errors.js';
import type { HeaderForwarding } from '../../protocol/header-forwarding.js';
import { DESCRIPTIONS } from '../descriptions.js';
import { RestrictedFeatures, type Restriction } from '../restricted-features.js';
import type { ServedCore } from '../served-core.js';
import { HEADER_FRAMING, type BinaryFraming } from './binary-framing.js';
import { handleGenerate } from './generate-handler.js';
import type { HttpExchange } from './http-exchange.js';
import { handleInfer, type InferHandlerOptions } from './infer-handler.js';
import { handleControl } from './control-handler.js';
import { PendingWork } from './pending-work.js';
import type { Route } from './routes.js';

export interface HttpEndpointsOptions {
  readonly server: ServedCore;
  /** Largest JSON of an inference request in bytes, and largest tensor given in JSON. */
  readonly maxInputSize: number;
  /** The endpoints that want a header. Default: none. */
  readonly restrictions?: readonly Restriction[];
  /** Which headers become parameters of inference requests. Default: none. */
  readonly forwarding?: HeaderForwarding | undefined;
  /** Default: Triton's own header. */
  readonly framing?: BinaryFraming;
}

export class HttpEndpoints {
  readonly #options: InferHandlerOptions & HttpEndpointsOptions;
  readonly #restricted: RestrictedFeatures;

  constructor(options: HttpEndpointsOptions) {
    this.#restricted = new RestrictedFeatures(options.restrictions ?? []);
    const { forwarding, framing = HEADER_FRAMING } = options;
    this.#options = { ...options, forwarding, framing, pending: new PendingWork() };
  }

  /** Resolves when no answer is being made any more that the core has given out of its hands. */
  done(): Promise<void> {
    return this.#options.pending.done();
  }

  /** Refuses the request when the endpoint wants a header that it does not have. True when it did. */
  refuseRestricted(exchange: HttpExchange, { category }: Route): boolean {
    const { request } = exchange;
    const missing = this.#restricted.missing(category, (name) => request.header(name));
    if (missing === undefined) return false;
    exchange.answerJson(403, { error: `This API is restricted, expecting header '${missing}'` });
    return true;
  }

  /** Answers a request whose method is one of the route's, or stands for it. Throws what is wrong with it at first sight. */
  answer(exchange: HttpExchange, route: Route): void {
    const { server } = this.#options;
    const { model, version } = route;
    switch (route.endpoint) {
      case 'infer':
        handleInfer(exchange, route, this.#options);
        return;
      case 'generate':
      case 'generate stream':
        handleGenerate(exchange, route, this.#options);
        return;
      case 'live':
        this.#answerHealth(exchange, server.live);
        return;
      case 'ready':
        this.#answerHealth(exchange, server.isReady());
        return;
      case 'model ready':
        if (server.isModelReady(model, version)) exchange.answerEmpty(200);
        else exchange.answerJson(400, { error: 'Model version not ready' });
        return;
      case 'server metadata':
      case 'model metadata':
      case 'model config':
      case 'statistics':
        exchange.answerLater(DESCRIPTIONS[route.endpoint](server, model, version));
        return;
      default:
        handleControl(exchange, route, this.#options);
    }
  }

  #answerHealth(exchange: HttpExchange, healthy: boolean): void {
    if (this.#options.server.exiting) exchange.answerError(new TritonError('UNAVAILABLE', 'Server exiting'));
    else exchange.answerEmpty(healthy ? 200 : 400);
  }
}
