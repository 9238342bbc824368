// All metrics of a server as text. Each report gathers its figures anew. Only the event loop's lag is sampled all the time.

import type { Logger } from '../../observability/logger.js';
import type { ServedCore } from '../served-core.js';
import { CpuMeter } from './cpu-meter.js';
import { customFamilies } from './custom-families.js';
import { EventLoopLag } from './event-loop-lag.js';
import { PROMETHEUS_CONTENT_TYPE, prometheusText } from './prometheus-text.js';
import { tritonFamilies, type TritonMetricsOptions } from './triton-metrics.js';
import { tstritonFamilies } from './tstriton-metrics.js';

export interface MetricsOptions extends TritonMetricsOptions {
  /** The machine's processors and memory. */
  readonly cpu: boolean;
  /** How old figures of the machine may be. */
  readonly intervalMs: number;
}

export interface MetricsReportOptions extends MetricsOptions {
  readonly server: Pick<ServedCore, 'measure'>;
  readonly logger: Logger;
  /** Open connections by protocol. Default: none are shown. */
  readonly connections?: () => readonly (readonly [protocol: string, count: number])[];
}

export class MetricsReport {
  readonly contentType: string = PROMETHEUS_CONTENT_TYPE;
  readonly #options: MetricsReportOptions;
  readonly #lag = new EventLoopLag();
  readonly #cpu: CpuMeter | undefined;
  /** Problems that the log has already reported. */
  readonly #told = new Set<string>();

  constructor(options: MetricsReportOptions) {
    this.#options = options;
    this.#cpu = options.cpu ? new CpuMeter(options.intervalMs) : undefined;
  }

  /** Starts the count of lag and utilisation. */
  start(): void {
    this.#lag.start();
    this.#cpu?.usage(performance.now());
  }

  stop(): void {
    this.#lag.stop();
  }

  text(): string {
    const { server, connections = () => [] } = this.#options;
    const measured = server.measure();
    const { models } = measured;
    const cpu = this.#cpu?.usage(performance.now());
    const custom = customFamilies(models);
    for (const problem of custom.problems) this.#tell(problem);
    return prometheusText([
      ...tritonFamilies(measured, cpu, this.#options),
      ...tstritonFamilies(models, { eventLoopLag: this.#lag.histogram, connections: connections() }),
      ...custom.families,
    ]);
  }

  #tell(problem: string): void {
    if (this.#told.has(problem)) return;
    this.#told.add(problem);
    this.#options.logger.warn(problem);
  }
}
