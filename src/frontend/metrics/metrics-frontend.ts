// The metrics port: GET /metrics for Prometheus.

import type { InferenceServer } from '../../core/inference-server.js';
import type { Logger } from '../../model/logger.js';
import type { Frontend } from '../frontend.js';
import type { HttpExchange } from '../http/http-exchange.js';
import { HttpListener } from '../http/http-listener.js';
import { PROMETHEUS_CONTENT_TYPE, prometheusText } from './prometheus-text.js';

export interface MetricsFrontendOptions {
  readonly server: InferenceServer;
  readonly address: string;
  readonly port: number;
  readonly logger: Logger;
}

const METRICS_PATH = /^(?:https?:\/\/[^/?#]*)?\/metrics\/?(?:\?|$)/;

export class MetricsFrontend implements Frontend {
  readonly #server: InferenceServer;
  readonly #listener: HttpListener;

  constructor({ server, address, port, logger }: MetricsFrontendOptions) {
    this.#server = server;
    this.#listener = new HttpListener({
      name: 'Metrics Service',
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

  close(): Promise<void> {
    return this.#listener.close();
  }

  #answer(exchange: HttpExchange): void {
    const { method, url } = exchange.request;
    if (method !== 'GET') {
      exchange.answerJson(405, { error: 'Method Not Allowed' }, ['Allow', 'GET']);
    } else if (!METRICS_PATH.test(url!)) {
      exchange.answerJson(404, { error: 'Not Found' });
    } else {
      exchange.answerBody(200, PROMETHEUS_CONTENT_TYPE, Buffer.from(prometheusText(this.#server.modelReports())));
    }
  }
}
