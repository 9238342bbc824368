// The metrics that a model's callables record, added up over its instances.

import type { Metric, MetricsUpdate, SeriesUpdate } from '../../observability/metrics.js';
import { Histogram } from './histogram.js';

/** One combination of label values; `histogram` is there for histograms, `value` counts for the others. */
export interface CustomSeries {
  /** In the order of the metric's labels. */
  readonly labels: readonly string[];
  value: number;
  readonly histogram: Histogram | undefined;
}

export interface CustomMetric {
  readonly metric: Metric;
  readonly series: Iterable<CustomSeries>;
}

/** A metric's series are memory of the server for as long as the model is loaded: label values without end must not fill it. */
const MOST_SERIES = 10_000;

export class CustomMetrics {
  readonly #metrics = new Map<string, { readonly metric: Metric; readonly series: Map<string, CustomSeries> }>();
  readonly #problems = new Set<string>();

  /** Metrics that were left out and why, one line each. */
  get problems(): ReadonlySet<string> {
    return this.#problems;
  }

  apply(update: MetricsUpdate): void {
    for (const { metric, series } of update) {
      let known = this.#metrics.get(metric.name);
      if (known === undefined) this.#metrics.set(metric.name, (known = { metric, series: new Map() }));
      if (!sameMetric(known.metric, metric)) {
        this.#problems.add(`metric '${metric.name}' is declared in two ways; only the first is shown`);
        continue;
      }
      for (const one of series) {
        const target = this.#seriesOf(known, one);
        if (target === undefined) continue;
        if (target.histogram !== undefined) target.histogram.add(one.counts ?? [], one.added);
        else target.value = (one.set ?? target.value) + one.added;
      }
    }
  }

  /** In the order in which they were first recorded. */
  list(): readonly CustomMetric[] {
    return [...this.#metrics.values()].map(({ metric, series }) => ({ metric, series: series.values() }));
  }

  #seriesOf(
    { metric, series }: { readonly metric: Metric; readonly series: Map<string, CustomSeries> },
    { labels }: SeriesUpdate,
  ): CustomSeries | undefined {
    const key = JSON.stringify(labels);
    let found = series.get(key);
    if (found === undefined) {
      if (series.size >= MOST_SERIES) {
        this.#problems.add(
          `metric '${metric.name}' has more than ${MOST_SERIES} combinations of label values; further ones are left out`,
        );
        return undefined;
      }
      found = { labels, value: 0, histogram: metric.kind === 'histogram' ? new Histogram(metric.buckets) : undefined };
      series.set(key, found);
    }
    return found;
  }
}

/** Whether two declarations of one name can be shown as one metric. */
export function sameMetric(a: Metric, b: Metric): boolean {
  if (a === b) return true;
  const bucketsOf = (metric: Metric) => (metric.kind === 'histogram' ? metric.buckets.join() : '');
  return a.kind === b.kind && a.help === b.help && a.labels.join() === b.labels.join() && bucketsOf(a) === bucketsOf(b);
}
