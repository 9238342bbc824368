// The HTTP/REST protocol: finds the endpoint that each request is for.

import { HeaderForwarding } from '../../protocol/header-forwarding.js';
import { CorsPolicy, isPreflight } from './cors.js';
import { HttpEndpoints, type HttpEndpointsOptions } from './http-endpoints.js';
import type { HttpRequest } from '../../http1/http-exchange.js';
import type { HttpExchange } from './http-exchange.js';
import type { PortService } from './http-port.js';
import { matchRoute } from './routes.js';

export interface HttpServiceOptions extends Pick<HttpEndpointsOptions, 'server' | 'maxInputSize' | 'restrictions'> {
  /** Headers whose name matches become parameters of inference requests. Default: none. */
  readonly headerForwardPattern?: string | undefined;
  /** Origins whose pages may read answers; `*` stands for all. Default: none. */
  readonly corsAllowOrigin?: readonly string[];
}

export class HttpService implements PortService {
  readonly name = 'HTTPService';
  readonly #endpoints: HttpEndpoints;
  readonly #cors: CorsPolicy | undefined;

  /** Throws INVALID_ARG for a pattern that is none. */
  constructor(options: HttpServiceOptions) {
    const { headerForwardPattern: pattern, corsAllowOrigin = [] } = options;
    const forwarding = pattern === undefined ? undefined : new HeaderForwarding(pattern, 'httpHeaderForwardPattern');
    this.#endpoints = new HttpEndpoints({ ...options, forwarding });
    if (corsAllowOrigin.length > 0) this.#cors = new CorsPolicy(corsAllowOrigin);
  }

  close(): Promise<void> {
    return this.#endpoints.done();
  }

  isVital({ target }: HttpRequest): boolean {
    return matchRoute(target)?.category === 'health';
  }

  answer(exchange: HttpExchange): void {
    const { request, answer } = exchange;
    const { method } = request;
    const route = matchRoute(request.target);
    const cors = this.#cors;
    if (cors !== undefined) answer.commonHeaders = cors.answerHeaders(request.header('origin'));
    if (route === undefined) {
      exchange.answerJson(404, { error: 'Not Found' });
    } else if (cors !== undefined && isPreflight(request)) {
      answer.respond(204, cors.preflightHeaders(route.methods, request.header('access-control-request-headers')), []);
    } else if (this.#endpoints.refuseRestricted(exchange, route)) {
      // Before it tells which methods there are.
    } else if (!route.methods.includes(method)) {
      exchange.answerJson(405, { error: 'Method Not Allowed' }, ['Allow', route.methods.join(', ')]);
    } else {
      this.#endpoints.answer(exchange, route);
    }
  }
}
