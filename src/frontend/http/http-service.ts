// Triton's HTTP/REST protocol: finds the endpoint that each request is for.

import type { HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import type { Logger } from '../../observability/logger.js';
import { HeaderForwarding } from '../../protocol/header-forwarding.js';
import type { ServedCore } from '../served-core.js';
import { answerJson } from './answers.js';
import { CorsPolicy, isPreflight } from './cors.js';
import type { EndpointTarget } from './endpoint-handler.js';
import { ENDPOINTS, Endpoints, type EndpointsOptions, type Route } from './endpoints.js';
import type { FurtherPaths } from './further-paths.js';
import type { PortService } from './http-frontend.js';
import { RefusedOrigins } from './refused-origins.js';
import { matchRoute, pathOf } from './routes.js';

export interface HttpServiceOptions extends Pick<EndpointsOptions, 'server' | 'maxInputSize' | 'restrictions'> {
  /** Headers whose name matches become parameters of inference requests. Default: none. */
  readonly headerForwardPattern?: string | undefined;
  /** Origins whose pages may read answers; `*` stands for all. Default: none. */
  readonly corsAllowOrigin?: readonly string[];
  /** Further paths than the protocol has. Default: none. */
  readonly further?: readonly FurtherPaths[];
  /** Names the origins whose pages may not read answers. Default: nobody hears of it. */
  readonly logger?: Pick<Logger, 'warn'> | undefined;
}

export class HttpService implements PortService {
  readonly name = 'HTTPService';
  readonly #server: ServedCore;
  readonly #endpoints: Endpoints;
  readonly #further: readonly FurtherPaths[];
  readonly #cors: CorsPolicy | undefined;
  readonly #refusedOrigins: RefusedOrigins | undefined;

  /** Throws INVALID_ARG for an invalid pattern. */
  constructor(options: HttpServiceOptions) {
    const { headerForwardPattern: pattern, corsAllowOrigin = [] } = options;
    const forwarding = pattern === undefined ? undefined : new HeaderForwarding(pattern, 'httpHeaderForwardPattern');
    this.#server = options.server;
    this.#endpoints = new Endpoints({ ...options, forwarding });
    this.#further = options.further ?? [];
    this.#refusedOrigins = options.logger && new RefusedOrigins(options.logger);
    if (corsAllowOrigin.length > 0) this.#cors = new CorsPolicy(corsAllowOrigin);
  }

  isVital({ target }: HttpRequest): boolean {
    const route = matchRoute(target);
    return route !== undefined && ENDPOINTS[route.endpoint].category === 'health';
  }

  handler(request: HttpRequest): ServeRequest {
    const cors = this.#cors;
    this.#refusedOrigins?.notice(request, cors && ((origin) => cors.allows(origin)));
    if (cors === undefined) return this.#handler(request);
    const headers = cors.answerHeaders(request.header('origin'));
    const handler = this.#handler(request, cors);
    return (exchange) => {
      exchange.commonHeaders = headers;
      handler(exchange);
    };
  }

  #handler(request: HttpRequest, cors?: CorsPolicy): ServeRequest {
    const route = matchRoute(request.target);
    if (route !== undefined) return this.#routed(request, route, cors);
    for (const paths of this.#further) {
      const handler = paths.handler(request, cors);
      if (handler !== undefined) return handler;
    }
    return this.#ownRoute(request, cors);
  }

  /** Models come and go with their own routes, while handlers last as long as a connection. So each request looks its route up. */
  #ownRoute(request: HttpRequest, cors: CorsPolicy | undefined): ServeRequest {
    const path = pathOf(request.target);
    let target: EndpointTarget | undefined;
    let handler: ServeRequest | undefined;
    return (exchange) => {
      const found = this.#server.routes.get(path);
      if (found === undefined) {
        answerJson(exchange, 404, { error: 'Not Found' });
        return;
      }
      if (handler === undefined || found !== target) {
        target = found;
        handler = this.#routed(request, { endpoint: 'plain json', ...found }, cors);
      }
      handler(exchange);
    };
  }

  #routed(request: HttpRequest, route: Route, cors: CorsPolicy | undefined): ServeRequest {
    const methods: readonly string[] = ENDPOINTS[route.endpoint].methods;
    if (cors !== undefined && isPreflight(request)) {
      const headers = cors.preflightHeaders(methods, request.header('access-control-request-headers'));
      return (exchange) => exchange.respond(204, headers, []);
    }
    // This check comes before any answer that lists the allowed methods.
    const refusal = this.#endpoints.refusal(request, route);
    if (refusal !== undefined) return refusal;
    if (methods.includes(request.method)) return this.#endpoints.handler(request, route);
    const allow = ['Allow', methods.join(', ')];
    return (exchange) => answerJson(exchange, 405, { error: 'Method Not Allowed' }, allow);
  }
}
