// The metrics port: GET /metrics for Prometheus.

import { TritonError } from '../../errors.js';
import type { HttpExchange } from '../http/http-exchange.js';
import type { PortService } from '../http/http-port.js';
import type { Later } from '../served-core.js';
import type { MetricsReport } from './metrics-report.js';

/** The metrics of a server as a frontend sees them. */
export interface MetricsText {
  readonly contentType: string;
  text(): Later<string>;
}

type SampledMetrics = MetricsText & Pick<MetricsReport, 'start' | 'stop'>;

const METRICS_PATH = /^(?:https?:\/\/[^/?#]*)?\/metrics\/?(?:\?|$)/;

export class MetricsService implements PortService {
  readonly name = 'Metrics Service';
  readonly #report: SampledMetrics;

  /** The report runs while the port is open. */
  constructor(report: SampledMetrics) {
    this.#report = report;
  }

  open(): void {
    this.#report.start();
  }

  close(): void {
    this.#report.stop();
  }

  answer(exchange: HttpExchange): void {
    const { method, target } = exchange.request;
    if (method !== 'GET') {
      exchange.answerJson(405, { error: 'Method Not Allowed' }, ['Allow', 'GET']);
    } else if (!METRICS_PATH.test(target)) {
      exchange.answerJson(404, { error: 'Not Found' });
    } else {
      answerMetrics(exchange, this.#report);
    }
  }
}

/** Answers with the metrics as they are now. */
export function answerMetrics(exchange: HttpExchange, report: MetricsText): void {
  Promise.resolve(report.text()).then(
    (text) => exchange.answerBody(200, report.contentType, Buffer.from(text)),
    (error: unknown) => exchange.answerError(TritonError.from(error)),
  );
}
