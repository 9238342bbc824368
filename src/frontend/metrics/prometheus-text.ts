// Prometheus' text exposition format, version 0.0.4, as Triton writes it: totals before buckets and quantiles, whole
// numbers without a point.

import type { Histogram } from '../../core/metrics/histogram.js';

// The content of a scrape: families of series, gathered anew for each scrape.

/** Pairs of name and value, in the order of the names. */
export type Labels = readonly (readonly [name: string, value: string])[];

export interface ValueSeries {
  readonly labels: Labels;
  readonly value: number;
}

export interface HistogramSeries {
  readonly labels: Labels;
  readonly histogram: Pick<Histogram, 'bounds' | 'cumulative' | 'count' | 'sum'>;
}

export interface SummarySeries {
  readonly labels: Labels;
  readonly count: number;
  readonly sum: number;
  readonly quantiles: readonly (readonly [quantile: number, value: number])[];
}

interface Described {
  readonly name: string;
  readonly help: string;
}

export type MetricFamily = Described &
  (
    | { readonly type: 'counter' | 'gauge'; readonly series: readonly ValueSeries[] }
    | { readonly type: 'histogram'; readonly series: readonly HistogramSeries[] }
    | { readonly type: 'summary'; readonly series: readonly SummarySeries[] }
  );

export const PROMETHEUS_CONTENT_TYPE = 'text/plain; charset=utf-8';

/** Families without series are left out, as Triton does. */
export function prometheusText(families: readonly MetricFamily[]): string {
  return families.map((family) => (family.series.length === 0 ? '' : familyText(family))).join('');
}

function familyText(family: MetricFamily): string {
  const { name, help, type } = family;
  const head = `# HELP ${name} ${help.replace(/[\\\n]/g, escaped)}\n# TYPE ${name} ${type}\n`;
  return head + seriesLines(family).join('');
}

function seriesLines(family: MetricFamily): string[] {
  const { name } = family;
  switch (family.type) {
    case 'counter':
    case 'gauge':
      return family.series.map((series) => valueText(name, series));
    case 'histogram':
      return family.series.map((series) => histogramText(name, series));
    case 'summary':
      return family.series.map((series) => summaryText(name, series));
  }
}

function valueText(name: string, { labels, value }: ValueSeries): string {
  return line(name, labelsText(labels), value);
}

function histogramText(name: string, { labels, histogram }: HistogramSeries): string {
  const text = labelsText(labels);
  const { bounds, count, sum } = histogram;
  const buckets = histogram
    .cumulative()
    .map((below, index) => line(`${name}_bucket`, withLabel(text, 'le', bounds[index]!), below));
  const all = line(`${name}_bucket`, withLabel(text, 'le', Infinity), count);
  return line(`${name}_count`, text, count) + line(`${name}_sum`, text, sum) + buckets.join('') + all;
}

function summaryText(name: string, { labels, count, sum, quantiles }: SummarySeries): string {
  const text = labelsText(labels);
  const lines = quantiles.map(([quantile, value]) => line(name, withLabel(text, 'quantile', quantile), value));
  return line(`${name}_count`, text, count) + line(`${name}_sum`, text, sum) + lines.join('');
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${numberText(value)}\n`;
}

function labelsText(labels: Labels): string {
  return labels.map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`).join(',');
}

// The label goes behind all others, as in Triton.
function withLabel(labels: string, name: string, value: number): string {
  return `${labels === '' ? '' : `${labels},`}${name}="${numberText(value)}"`;
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

function escaped(char: string): string {
  return char === '\n' ? '\\n' : `\\${char}`;
}

/** The labels of a version of a model. */
export function modelLabels({
  config,
}: {
  readonly config: { readonly name: string; readonly version: number };
}): Labels {
  return [
    ['model', config.name],
    ['version', String(config.version)],
  ];
}
