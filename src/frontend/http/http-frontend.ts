// The HTTP/REST protocol: finds the endpoint of each request and answers it from the core.

import type { InferenceServer } from '../../core/inference-server.js';
import { TritonError } from '../../errors.js';
import type { Logger } from '../../model/logger.js';
import { HeaderForwarding } from '../../protocol/header-forwarding.js';
import { modelConfigJson } from '../../protocol/model-config-json.js';
import { modelMetadata } from '../../protocol/model-metadata.js';
import type { Frontend } from '../frontend.js';
import { RestrictedFeatures, type Restriction } from '../restricted-features.js';
import { CorsPolicy, isPreflight } from './cors.js';
import { CATEGORY_OF } from './endpoint-categories.js';
import { handleGenerate } from './generate-handler.js';
import type { HttpExchange } from './http-exchange.js';
import { HttpListener } from './http-listener.js';
import { handleInfer } from './infer-handler.js';
import { handleManagement } from './management-handler.js';
import { PendingWork } from './pending-work.js';
import { matchRoute, type Route } from './routes.js';
import { statisticsJson } from './statistics-json.js';

export interface HttpFrontendOptions {
  readonly server: InferenceServer;
  readonly address: string;
  readonly port: number;
  readonly logger: Logger;
  /** Largest JSON of an inference request in bytes, and largest tensor given in JSON. Default 64 MiB. */
  readonly maxInputSize?: number;
  /** Headers whose name matches become parameters of inference requests. Default: none. */
  readonly headerForwardPattern?: string | undefined;
  /** The endpoints that want a header. Default: none. */
  readonly restrictions?: readonly Restriction[];
  /** Origins whose pages may read answers; `*` stands for all. Default: none. */
  readonly corsAllowOrigin?: readonly string[];
}

const DEFAULT_MAX_INPUT_SIZE = 64 * 1024 * 1024;

export class HttpFrontend implements Frontend {
  readonly #server: InferenceServer;
  readonly #listener: HttpListener;
  readonly #maxInputSize: number;
  readonly #restricted: RestrictedFeatures;
  readonly #forwarding: HeaderForwarding | undefined;
  readonly #cors: CorsPolicy | undefined;
  readonly #pending = new PendingWork();

  /** Throws INVALID_ARG for a pattern that is none. */
  constructor(options: HttpFrontendOptions) {
    const { server, address, port, logger, headerForwardPattern, corsAllowOrigin = [] } = options;
    this.#server = server;
    this.#restricted = new RestrictedFeatures(options.restrictions ?? []);
    this.#maxInputSize = options.maxInputSize ?? DEFAULT_MAX_INPUT_SIZE;
    if (headerForwardPattern !== undefined)
      this.#forwarding = new HeaderForwarding(headerForwardPattern, 'httpHeaderForwardPattern');
    if (corsAllowOrigin.length > 0) this.#cors = new CorsPolicy(corsAllowOrigin);
    this.#listener = new HttpListener({
      name: 'HTTPService',
      address,
      port,
      logger,
      onRequest: (exchange) => this.#answer(exchange),
    });
  }

  start(): Promise<number> {
    return this.#listener.start();
  }

  drain(): void {
    this.#listener.drain();
  }

  async close(): Promise<void> {
    await this.#pending.done();
    await this.#listener.close();
  }

  #answer(exchange: HttpExchange): void {
    const { method, url, headers } = exchange.request;
    const route = matchRoute(url!);
    const cors = this.#cors;
    if (cors !== undefined) exchange.commonHeaders = cors.answerHeaders(headers.origin);
    if (route === undefined) {
      exchange.answerJson(404, { error: 'Not Found' });
    } else if (cors !== undefined && isPreflight(method, headers)) {
      exchange.answerNoContent(cors.preflightHeaders(route.methods, headers['access-control-request-headers']));
    } else if (this.#refuseRestricted(exchange, route)) {
      // Answered, before it tells which methods there are.
    } else if (!route.methods.includes(method!)) {
      exchange.answerJson(405, { error: 'Method Not Allowed' }, ['Allow', route.methods.join(', ')]);
    } else {
      this.#answerRoute(exchange, route);
    }
  }

  /** True when the endpoint wants a header that the request does not have. */
  #refuseRestricted(exchange: HttpExchange, { endpoint }: Route): boolean {
    const { headers } = exchange.request;
    const missing = this.#restricted.missing(CATEGORY_OF[endpoint], (name) => headers[name]?.toString());
    if (missing === undefined) return false;
    exchange.answerJson(403, { error: `This API is restricted, expecting header '${missing}'` });
    return true;
  }

  #answerRoute(exchange: HttpExchange, route: Route): void {
    const server = this.#server;
    const { model, version } = route;
    switch (route.endpoint) {
      case 'infer':
        handleInfer(exchange, route, {
          server,
          maxInputSize: this.#maxInputSize,
          forwarding: this.#forwarding,
          pending: this.#pending,
        });
        return;
      case 'generate':
      case 'generate stream':
        handleGenerate(exchange, route, { server, maxInputSize: this.#maxInputSize });
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
        handleManagement(exchange, route, { server, maxInputSize: this.#maxInputSize });
    }
  }

  #answerHealth(exchange: HttpExchange, healthy: boolean): void {
    if (this.#server.exiting) exchange.answerError(new TritonError('UNAVAILABLE', 'Server exiting'));
    else exchange.answerEmpty(healthy ? 200 : 400);
  }
}
