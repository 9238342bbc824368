// A port that serves HTTP, whatever its service makes of the requests.

import { TritonError } from '../../errors.js';
import type { HttpRequest } from '../../http1/http-exchange.js';
import { authorityOf } from '../../http1/host.js';
import { HttpServer, type HttpServerOptions } from '../../http1/http-server.js';
import type { Logger } from '../../model/logger.js';
import type { AllowedHosts } from '../allowed-hosts.js';
import type { Frontend } from '../frontend.js';
import { cutOffLines } from '../cut-off-lines.js';
import { listenAt } from '../listen-failure.js';
import { readPortTls, type TlsFiles } from '../port-tls.js';
import { HttpExchange } from './http-exchange.js';
import { TRY_AGAIN } from './receive-body.js';

export interface PortService {
  /** As the log names it. */
  readonly name: string;
  /** Answers the request, at once or later; what this throws becomes the answer. */
  answer(exchange: HttpExchange): void;
  /** Whether it asks how the server is, which is answered on connections beyond the limit too. Default: no. */
  isVital?(request: HttpRequest): boolean;
  /** The port is about to open. */
  open?(): void;
  /** The port is about to close, as soon as this is done. */
  close?(): void | Promise<void>;
}

export interface HttpPortOptions {
  readonly address: string;
  readonly port: number;
  /** Default: no TLS. */
  readonly tls?: TlsFiles | undefined;
  readonly logger: Logger;
  /** Default: all hosts are answered. */
  readonly hosts?: AllowedHosts | undefined;
  /** What clients may have the server hold. Default: anything. */
  readonly budget?: HttpServerOptions['budget'];
  /** Shared with other ports. Default: any number of connections. */
  readonly limit?: HttpServerOptions['limit'];
}

export class HttpPort implements Frontend {
  readonly name: string;
  readonly #service: PortService;
  readonly #options: HttpPortOptions;
  #server: HttpServer | undefined;

  constructor(service: PortService, options: HttpPortOptions) {
    this.name = service.name;
    this.#service = service;
    this.#options = options;
  }

  /** Rejects also with INVALID_ARG when certificates cannot be used. */
  async start(): Promise<number> {
    const { address, port, tls, logger, budget, limit } = this.#options;
    this.#server = new HttpServer({
      serve: (request, answer) => this.serve(new HttpExchange(request, answer)),
      tls: tls === undefined ? undefined : readPortTls(tls),
      onError: (error) => logger.error(`${this.name}: ${error.message}`),
      onHandshakeError: (error) => logger.verbose(1, `${this.name}: handshake failed: ${error.message}`),
      onCutOff: (connections) => {
        for (const line of cutOffLines(this.name, connections)) logger.warn(line);
      },
      budget,
      limit,
      serveSpare: (request, answer) => this.#serveSpare(new HttpExchange(request, answer)),
    });
    this.#service.open?.();
    return listenAt(this.#server, address, port);
  }

  retire(): void {
    this.#server?.retire();
  }

  drain(): void {
    this.#server?.drain();
  }

  get connections(): number {
    return this.#server?.connections ?? 0;
  }

  get underWay(): number {
    return this.#server?.underWay ?? 0;
  }

  async settled(): Promise<void> {
    await this.#server?.settled();
  }

  async close(): Promise<void> {
    await this.#service.close?.();
    await this.#server?.close();
  }

  #serveSpare(exchange: HttpExchange): void {
    if (this.#service.isVital?.(exchange.request) === true) this.serve(exchange);
    else
      exchange.answerError(
        new TritonError('UNAVAILABLE', 'there are too many connections: try again later'),
        TRY_AGAIN,
      );
  }

  /** Answers a request, whatever becomes of it. */
  serve(exchange: HttpExchange): void {
    const { request } = exchange;
    // The host of a whole URL is the one that counts (RFC 9112, section 3.2.2).
    const refusal = this.#options.hosts?.refusal(authorityOf(request.target) ?? request.header('host'));
    if (refusal !== undefined) return exchange.answerJson(403, { error: refusal });
    try {
      this.#service.answer(exchange);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      if (!TritonError.is(thrown)) {
        const what = thrown instanceof Error ? (thrown.stack ?? thrown.message) : error.message;
        this.#options.logger.error(`${this.#service.name}: ${what}`);
      }
      if (!exchange.answer.begun) exchange.answerError(error);
    }
  }
}
