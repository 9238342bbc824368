// Serves Triton's HTTP protocol inside somebody else's HTTP server, which has the sockets. It has no port.

import type { IncomingMessage, ServerResponse } from 'node:http';

import { TritonError } from '../../errors.js';
import type { Logger } from '../../observability/logger.js';
import type { ByteBudget } from '../../sockets/byte-budget.js';
import { LinkedList } from '../../linked-list.js';
import { afterReading } from '../../pacing/after-reading.js';
import { ServedTime } from '../../pacing/served-time.js';
import { WriteTurn } from '../../sockets/write-turn.js';
import type { AllowedHosts } from '../allowed-hosts.js';
import type { Frontend } from '../frontend.js';
import { answerError } from '../http/answers.js';
import { serveWith } from '../http/http-frontend.js';
import type { HttpService } from '../http/http-service.js';
import { FetchExchange } from './fetch-exchange.js';
import type { MountedExchange, MountedSurroundings } from './mounted-exchange.js';
import { hasHeader, MountedRequest } from './mounted-request.js';
import { NodeExchange } from './node-exchange.js';

/** How exact the times of requests are. */
const TICK_MILLISECONDS = 500;

export interface MountedFrontendOptions {
  readonly service: HttpService;
  readonly budget: ByteBudget;
  readonly logger: Logger;
  readonly hosts?: AllowedHosts | undefined;
}

export class MountedFrontend implements Frontend {
  readonly name = 'mounted HTTPService';
  readonly #options: MountedFrontendOptions;
  readonly #underWay = new LinkedList<MountedExchange>();
  #count = 0;
  /** The latest request of each connection. */
  readonly #requests = new WeakMap<object, MountedRequest>();
  readonly #turn = new WriteTurn();
  #drains = false;
  readonly #time = new ServedTime(2 * TICK_MILLISECONDS);
  readonly #clock = { now: this.#time.look() };
  readonly #surroundings: MountedSurroundings;
  /** Runs while requests are under way. */
  #ticks: NodeJS.Timeout | undefined;
  #settled: (() => void) | undefined;

  constructor(options: MountedFrontendOptions) {
    this.#options = options;
    this.#surroundings = { budget: options.budget, clock: this.#clock };
  }

  /** It has no port to open. */
  start(): Promise<number> {
    return Promise.resolve(0);
  }

  serveNode(incoming: IncomingMessage, response: ServerResponse, target: string): void {
    // The client left while the application did something else. No event comes any more that would end the request.
    if (response.destroyed) return;
    const request = this.#requestOf(incoming, target);
    const exchange: NodeExchange = new NodeExchange(
      { incoming, response, request, turn: this.#turn },
      this.#surroundings,
      () => this.#done(exchange),
    );
    this.#serve(exchange);
  }

  /** Clients repeat one head on a connection. Then the conclusions about it hold again. */
  #requestOf({ socket, method = 'GET', rawHeaders }: IncomingMessage, target: string): MountedRequest {
    const before = this.#requests.get(socket);
    if (before?.hasHead(method, target, rawHeaders) === true) return before;
    const isMeasured = !hasHeader(rawHeaders, 'transfer-encoding');
    const request = new MountedRequest({ method, target, rawHeaders, isMeasured });
    this.#requests.set(socket, request);
    return request;
  }

  serveFetch(request: Request, target: string): Promise<Response> {
    if (request.signal.aborted) return Promise.reject(request.signal.reason as Error);
    const exchange: FetchExchange = new FetchExchange(request, target, this.#surroundings, () => this.#done(exchange));
    this.#serve(exchange);
    return exchange.answer;
  }

  #serve(exchange: MountedExchange): void {
    this.#underWay.push(exchange);
    this.#count++;
    this.#ticks ??= setInterval(() => afterReading(() => this.#tick()), TICK_MILLISECONDS).unref();
    if (this.#drains) answerError(exchange, new TritonError('UNAVAILABLE', 'Server exiting'));
    else serveWith(this.#options.service, this.#options, exchange);
  }

  #done(exchange: MountedExchange): void {
    this.#underWay.remove(exchange);
    if (--this.#count === 0) this.#settled?.();
  }

  /** By then all is read that had come. */
  #tick(): void {
    this.#clock.now = this.#time.look();
    if (this.#count > 0) return;
    clearInterval(this.#ticks);
    this.#ticks = undefined;
  }

  /** The other server closes its connections. */
  retire(): void {}

  /** New requests are refused from now on. */
  drain(): void {
    this.#drains = true;
  }

  /** Requests under way. The connections belong to the other server. */
  get underWay(): number {
    return this.#count;
  }

  get awaited(): number {
    return 0;
  }

  get connections(): number {
    return this.#count;
  }

  settled(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#settled = resolve));
  }

  async close(): Promise<void> {
    this.#drains = true;
    // Each leaves the list as it closes.
    while (this.#underWay.first !== undefined) this.#underWay.first.close();
    clearInterval(this.#ticks);
  }
}
