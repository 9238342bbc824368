// A frontend over HTTP: a service on a port. Triton's HTTP protocol, the metrics, Vertex AI and SageMaker are services.

import { TritonError } from '../../errors.js';
import { authorityOf } from '../../http1/host.js';
import type { HttpExchange, HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import { HttpServer, type HttpServerOptions } from '../../http1/http-server.js';
import type { Logger } from '../../observability/logger.js';
import type { AllowedHosts } from '../allowed-hosts.js';
import { cutOffLines } from '../cut-off-lines.js';
import { listenAt } from '../listen-failure.js';
import { PortFrontend } from '../port-frontend.js';
import type { TlsFiles } from '../port-tls.js';
import { answerError, answerJson, TRY_AGAIN } from './answers.js';

export interface PortService {
  /** The service's name in the log. */
  readonly name: string;
  /** Makes the handler for requests with this head. An error that this or the handler throws becomes the answer. */
  handler(request: HttpRequest): ServeRequest;
  /** Whether the request asks about the server's health. Such requests are answered on connections beyond the limit too. Default: no. */
  isVital?(request: HttpRequest): boolean;
  /** The port is about to open. */
  open?(): void;
  /** The port is about to close. */
  close?(): void;
}

export interface HttpFrontendOptions extends Pick<HttpServerOptions, 'budget' | 'limit'> {
  readonly logger: Logger;
  readonly address: string;
  readonly port: number;
  /** Default: no TLS. */
  readonly tls?: TlsFiles | undefined;
  /** Default: all hosts are answered. */
  readonly hosts?: AllowedHosts | undefined;
}

/** Answers a request by a service, also when its handling fails. */
export function serveWith(
  service: PortService,
  { hosts, logger }: Pick<HttpFrontendOptions, 'hosts' | 'logger'>,
  exchange: HttpExchange,
): void {
  const { request } = exchange;
  try {
    request.handler ??= handlerOf(service, request, hosts);
    request.handler(exchange);
  } catch (thrown) {
    if (!TritonError.is(thrown)) {
      const what = thrown instanceof Error ? (thrown.stack ?? thrown.message) : TritonError.from(thrown).message;
      logger.error(`${service.name}: ${what}`);
    }
    if (!exchange.begun) answerError(exchange, thrown);
  }
}

function handlerOf(service: PortService, request: HttpRequest, hosts: AllowedHosts | undefined): ServeRequest {
  // The host of a whole URL overrides the header (RFC 9112, section 3.2.2).
  const refusal = hosts?.refusal(authorityOf(request.target) ?? request.header('host'));
  if (refusal === undefined) return service.handler(request);
  return (exchange) => answerJson(exchange, 403, { error: refusal });
}

export class HttpFrontend extends PortFrontend<HttpServer> {
  readonly name: string;
  readonly #service: PortService;
  readonly #options: HttpFrontendOptions;

  constructor(service: PortService, options: HttpFrontendOptions) {
    super();
    this.name = service.name;
    this.#service = service;
    this.#options = options;
  }

  /** Rejects also with INVALID_ARG when certificates cannot be used. */
  async start(): Promise<number> {
    const { address, port, tls, logger, budget, limit } = this.#options;
    const { name } = this;
    const service = this.#service;
    this.port = new HttpServer({
      serve: serveWith.bind(undefined, service, this.#options),
      serveSpare: (exchange) => this.#serveSpare(exchange),
      tls: await this.readTls(tls, logger),
      budget,
      limit,
      onError: (error) => logger.error(`${name}: ${error.message}`),
      onHandshakeError: (error) => logger.verbose(1, `${name}: handshake failed: ${error.message}`),
      onCutOff: (connections) => {
        for (const line of cutOffLines(name, connections)) logger.warn(line);
      },
    });
    service.open?.();
    return listenAt(this.port, address, port);
  }

  protected async closePort(): Promise<void> {
    this.#service.close?.();
    await this.port?.close();
  }

  #serveSpare(exchange: HttpExchange): void {
    if (this.#service.isVital?.(exchange.request) === true) {
      serveWith(this.#service, this.#options, exchange);
    } else {
      const error = new TritonError('UNAVAILABLE', 'there are too many connections: try again later');
      answerError(exchange, error, TRY_AGAIN);
    }
  }
}
