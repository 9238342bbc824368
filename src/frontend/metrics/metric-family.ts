// What a scrape finds: families of series, gathered anew for every scrape.

import type { Histogram } from '../../core/metrics/histogram.js';

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
