// The endpoints of the HTTP/REST protocol, answered from the core. What path led to them is the business of the caller.

import type { InferenceServer } from '../../core/inference-server.js';
import { TritonError } from '../../errors.js';
import type { HeaderForwarding } from '../../protocol/header-forwarding.js';
import { modelConfigJson } from '../../protocol/model-config-json.js';
import { modelMetadata } from '../../protocol/model-metadata.js';
import { RestrictedFeatures, type Restriction } from '../restricted-features.js';
import { HEADER_FRAMING, type BinaryFraming } from './binary-framing.js';
import { CATEGORY_OF } from './endpoint-categories.js';
import { handleGenerate } from './generate-handler.js';
import type { HttpExchange } from './http-exchange.js';
import { handleInfer } from './infer-handler.js';
import { handleManagement } from './management-handler.js';
import { PendingWork } from './pending-work.js';
import type { Route } from './routes.js';
import { statisticsJson } from './statistics-json.js';

export interface HttpEndpointsOptions {
  readonly server: InferenceServer;
  /** Largest JSON of an inference request in bytes, and largest tensor given in JSON. */
  readonly maxInputSize: number;
  /** The endpoints that want a header. */
  readonly restrictions: readonly Restriction[];
  /** Which headers become parameters of inference requests. Default: none. */
  readonly forwarding?: HeaderForwarding | undefined;
  /** Default: Triton's own header. */
  readonly framing?: BinaryFraming;
}

export class HttpEndpoints {
  readonly #options: HttpEndpointsOptions;
  readonly #restricted: RestrictedFeatures;
  readonly #framing: BinaryFraming;
  readonly #pending = new PendingWork();

  constructor(options: HttpEndpointsOptions) {
    this.#options = options;
    this.#restricted = new RestrictedFeatures(options.restrictions);
    this.#framing = options.framing ?? HEADER_FRAMING;
  }

  /** Resolves when no answer is being made any more that the core has given out of its hands. */
  done(): Promise<void> {
    return this.#pending.done();
  }

  /** Refuses the request when the endpoint wants a header that it does not have. True when it did. */
  refuseRestricted(exchange: HttpExchange, { endpoint }: Route): boolean {
    const { headers } = exchange.request;
    const missing = this.#restricted.missing(CATEGORY_OF[endpoint], (name) => headers[name]?.toString());
    if (missing === undefined) return false;
    exchange.answerJson(403, { error: `This API is restricted, expecting header '${missing}'` });
    return true;
  }

  /** Answers a request whose method is one of the route's, or stands for it. Throws what is wrong with it at first sight. */
  answer(exchange: HttpExchange, route: Route): void {
    const { server, maxInputSize, forwarding } = this.#options;
    const { model, version } = route;
    switch (route.endpoint) {
      case 'infer':
        handleInfer(exchange, route, {
          server,
          maxInputSize,
          forwarding,
          pending: this.#pending,
          framing: this.#framing,
        });
        return;
      case 'generate':
      case 'generate stream':
        handleGenerate(exchange, route, { server, maxInputSize });
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
        exchange.answerJson(200, { name: server.name, version: server.version, extensions: server.extensions });
        return;
      case 'model metadata': {
        const { config, versions } = server.modelMetadata(model, version);
        exchange.answerJson(200, modelMetadata(config, versions));
        return;
      }
      case 'model config':
        exchange.answerJson(200, modelConfigJson(server.modelConfig(model, version)));
        return;
      case 'statistics':
        exchange.answerJson(200, statisticsJson(server.statistics(model, version)));
        return;
      default:
        handleManagement(exchange, route, { server, maxInputSize });
    }
  }

  #answerHealth(exchange: HttpExchange, healthy: boolean): void {
    if (this.#options.server.exiting) exchange.answerError(new TritonError('UNAVAILABLE', 'Server exiting'));
    else exchange.answerEmpty(healthy ? 200 : 400);
  }
}
