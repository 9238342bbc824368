// The HTTP/REST protocol: finds the endpoint that each request is for.

import type { InferenceServer } from '../../core/inference-server.js';
import type { Logger } from '../../model/logger.js';
import { HeaderForwarding } from '../../protocol/header-forwarding.js';
import type { Restriction } from '../restricted-features.js';
import { CorsPolicy, isPreflight } from './cors.js';
import { HttpEndpoints } from './http-endpoints.js';
import type { HttpExchange } from './http-exchange.js';
import { HttpListener } from './http-listener.js';
import { matchRoute } from './routes.js';

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

export class HttpFrontend extends HttpListener {
  readonly #endpoints: HttpEndpoints;
  readonly #cors: CorsPolicy | undefined;

  /** Throws INVALID_ARG for a pattern that is none. */
  constructor(options: HttpFrontendOptions) {
    const { server, address, port, logger, headerForwardPattern, corsAllowOrigin = [] } = options;
    super({ name: 'HTTPService', address, port, logger });
    this.#endpoints = new HttpEndpoints({
      server,
      maxInputSize: options.maxInputSize ?? DEFAULT_MAX_INPUT_SIZE,
      restrictions: options.restrictions ?? [],
      forwarding:
        headerForwardPattern === undefined
          ? undefined
          : new HeaderForwarding(headerForwardPattern, 'httpHeaderForwardPattern'),
    });
    if (corsAllowOrigin.length > 0) this.#cors = new CorsPolicy(corsAllowOrigin);
  }

  override async close(): Promise<void> {
    await this.#endpoints.done();
    await super.close();
  }

  protected override answer(exchange: HttpExchange): void {
    const { method, url, headers } = exchange.request;
    const route = matchRoute(url!);
    const cors = this.#cors;
    if (cors !== undefined) exchange.commonHeaders = cors.answerHeaders(headers.origin);
    if (route === undefined) {
      exchange.answerJson(404, { error: 'Not Found' });
    } else if (cors !== undefined && isPreflight(method, headers)) {
      exchange.answerNoContent(cors.preflightHeaders(route.methods, headers['access-control-request-headers']));
    } else if (this.#endpoints.refuseRestricted(exchange, route)) {
      // Before it tells which methods there are.
    } else if (!route.methods.includes(method!)) {
      exchange.answerJson(405, { error: 'Method Not Allowed' }, ['Allow', route.methods.join(', ')]);
    } else {
      this.#endpoints.answer(exchange, route);
    }
  }
}
