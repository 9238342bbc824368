// What a callable recorded of its own metrics since the last time: plain data that crosses threads. Every update says
// what its metrics are, so that no order among instances, threads and restarts matters.

import type { Metric } from './metrics.js';

export type MetricsUpdate = readonly MetricUpdate[];

export interface MetricUpdate {
  readonly metric: Metric;
  readonly series: readonly SeriesUpdate[];
}

/** One combination of label values. */
export interface SeriesUpdate {
  /** In the order of the metric's labels. */
  readonly labels: readonly string[];
  /** Gauges: what it was set to, and what was added to it since then or since the last update. Counters: what was added. */
  readonly set?: number;
  readonly added: number;
  /** Histograms: new observations per bucket, the one above the last bound included; their sum is `added`. */
  readonly counts?: readonly number[];
}
