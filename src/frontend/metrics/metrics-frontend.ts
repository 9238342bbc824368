// The metrics port: GET /metrics for Prometheus.

import type { Logger } from '../../model/logger.js';
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

export class MetricsFrontend extends HttpListener {
  readonly #report: MetricsFrontendOptions['report'];

  constructor({ report, address, port, logger }: MetricsFrontendOptions) {
    super({ name: 'Metrics Service', address, port, logger });
    this.#report = report;
  }

  override start(): Promise<number> {
    this.#report.start();
    return super.start();
  }

  override close(): Promise<void> {
    this.#report.stop();
    return super.close();
  }

  protected override answer(exchange: HttpExchange): void {
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
