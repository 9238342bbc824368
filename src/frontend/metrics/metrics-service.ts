// The metrics port: GET /metrics for Prometheus.

import type { HttpExchange, HttpRequest, ServeRequest } from '../../http1/http-exchange.js';
import { answerBody, answerError, answerJson } from '../http/answers.js';
import type { PortService } from '../http/http-frontend.js';
import type { Later } from '../served-core.js';
import type { MetricsReport } from './metrics-report.js';

/** The server's metrics, as frontends see them. */
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

  handler({ method, target }: HttpRequest): ServeRequest {
    if (method !== 'GET') {
      return (exchange) => answerJson(exchange, 405, { error: 'Method Not Allowed' }, ['Allow', 'GET']);
    }
    if (!METRICS_PATH.test(target)) return (exchange) => answerJson(exchange, 404, { error: 'Not Found' });
    return (exchange) => answerMetrics(exchange, this.#report);
  }
}

/** Answers with the metrics as they are now. */
export function answerMetrics(exchange: HttpExchange, report: MetricsText): void {
  Promise.resolve(report.text()).then(
    (text) => answerBody(exchange, report.contentType, Buffer.from(text)),
    (error: unknown) => answerError(exchange, error),
  );
}
