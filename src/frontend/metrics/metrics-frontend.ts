// The metrics port: GET /metrics for Prometheus.

import type { Logger } from '../../model/logger.js';
import type { Frontend } from '../frontend.js';
import type { HttpExchange } from '../http/http-exchange.js';
import { HttpListener } from '../http/http-listener.js';
import type { MetricsReport } from './metrics-report.js';

export interface MetricsFrontendOptions {
  /** Runs while the port is open. */
  readonly report: Pick<MetricsReport, 'contentType' | 'text' | 'start' | 'stop'>;
  readonly address: string;
  readonly port: number;
  readonly logger: Logger;
}

const METRICS_PATH = /^(?:https?:\/\/[^/?#]*)?\/metrics\/?(?:\?|$)/;

export class MetricsFrontend implements Frontend {
  readonly #report: MetricsFrontendOptions['report'];
  readonly #listener: HttpListener;

  constructor({ report, address, port, logger }: MetricsFrontendOptions) {
    this.#report = report;
    this.#listener = new HttpListener({
      name: 'Metrics Service',
      address,
      port,
      logger,
      onRequest: (exchange) => this.#answer(exchange),
    });
  }

  start(): Promise<number> {
    this.#report.start();
    return this.#listener.start();
  }

  get connections(): number {
    return this.#listener.connections;
  }

  drain(): void {
    this.#listener.drain();
  }

  close(): Promise<void> {
    this.#report.stop();
    return this.#listener.close();
  }

  #answer(exchange: HttpExchange): void {
    const { method, url } = exchange.request;
    if (method !== 'GET') {
      exchange.answerJson(405, { error: 'Method Not Allowed' }, ['Allow', 'GET']);
    } else if (!METRICS_PATH.test(url!)) {
      exchange.answerJson(404, { error: 'Not Found' });
    } else {
      exchange.answerBody(200, this.#report.contentType, Buffer.from(this.#report.text()));
    }
  }
}
