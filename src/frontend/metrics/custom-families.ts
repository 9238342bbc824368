// The metrics that callables record, as families: one per name, with the series of every model that has it.

import { sameMetric } from '../../core/metrics/custom-metrics.js';
import type { Metric } from '../../observability/metrics.js';
import type { MeasuredModel } from '../measured-metrics.js';
import {
  type HistogramSeries,
  type Labels,
  type MetricFamily,
  type ValueSeries,
  modelLabels,
} from './prometheus-text.js';

interface Gathered {
  readonly metric: Metric;
  readonly values: ValueSeries[];
  readonly histograms: HistogramSeries[];
}

export interface CustomFamilies {
  /** By name. */
  readonly families: readonly MetricFamily[];
  /** Why some metrics are not shown. */
  readonly problems: readonly string[];
}

export function customFamilies(models: readonly MeasuredModel[]): CustomFamilies {
  const byName = new Map<string, Gathered>();
  const problems: string[] = [];
  for (const model of models) {
    const { custom } = model.statistics;
    for (const problem of custom.problems) problems.push(`model '${model.config.name}': ${problem}`);
    for (const { metric, series } of custom.list()) {
      let gathered = byName.get(metric.name);
      if (gathered === undefined) byName.set(metric.name, (gathered = { metric, values: [], histograms: [] }));
      if (!sameMetric(gathered.metric, metric)) {
        problems.push(
          `model '${model.config.name}': metric '${metric.name}' is declared otherwise by another model and not shown`,
        );
        continue;
      }
      for (const { labels: own, value, histogram } of series) {
        const labels = labelsOf(model, metric, own);
        if (histogram === undefined) gathered.values.push({ labels, value });
        else gathered.histograms.push({ labels, histogram });
      }
    }
  }
  const families = [...byName.values()]
    .sort((a, b) => (a.metric.name < b.metric.name ? -1 : 1))
    .map(({ metric: { name, help, kind }, values, histograms }): MetricFamily =>
      kind === 'histogram'
        ? { name, help, type: kind, series: histograms }
        : { name, help, type: kind, series: values },
    );
  return { families, problems };
}

function labelsOf(model: MeasuredModel, metric: Metric, own: readonly string[]): Labels {
  const labels = metric.labels.map((name, index) => [name, own[index] ?? ''] as const);
  return [...labels, ...modelLabels(model)].sort(([a], [b]) => (a < b ? -1 : 1));
}
