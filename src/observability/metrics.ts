// Users declare metrics of their own once as values, and record them through `context.metrics`. Declarations are plain
// data, so that they work in any thread and any copy of the package. Recorded values cross threads as plain data too.

import { checkMembers } from '../checks/check.js';
import { invalidArg } from '../errors.js';

export interface MetricOptions<L extends string> {
  /**
   * Letters, digits, underscores and colons; not `nv_…` (but for `nv_trt_llm_…`) or `tstriton_…`. By convention it ends with the unit, such as
   * `_seconds`, and with `_total` for counters.
   */
  readonly name: string;
  /** One sentence for the readers of the metric. */
  readonly help: string;
  /** Names of the labels; the server adds `model` and `version`. Default: none. */
  readonly labels?: readonly L[];
}

/** Only grows. */
export interface CounterMetric<L extends string = string> {
  readonly kind: 'counter';
  readonly name: string;
  readonly help: string;
  readonly labels: readonly L[];
}

/** Goes up and down. */
export interface GaugeMetric<L extends string = string> {
  readonly kind: 'gauge';
  readonly name: string;
  readonly help: string;
  readonly labels: readonly L[];
}

/** Counts values in buckets. */
export interface HistogramMetric<L extends string = string> {
  readonly kind: 'histogram';
  readonly name: string;
  readonly help: string;
  readonly labels: readonly L[];
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

export type Metric = CounterMetric | GaugeMetric | HistogramMetric;

/** The values of a metric's labels; nothing when it has none. */
export type LabelValues<M extends Metric> = [M['labels'][number]] extends [never]
  ? []
  : [labels: Readonly<Record<M['labels'][number], string>>];

/**
 * Records metrics from a callable: `context.metrics`. Recorded values cross to the server with the results of the
 * batch. Throws INTERNAL, the callable's own mistake, for values that the metric cannot take and for undeclared labels.
 */
export interface Metrics {
  /** Adds to a counter or a gauge; to a counter no less than 0. */
  add<M extends CounterMetric | GaugeMetric>(metric: M, amount: number, ...labels: LabelValues<M>): void;
  /** Sets a gauge. With several instances of the model, the last call counts. */
  set<M extends GaugeMetric>(metric: M, value: number, ...labels: LabelValues<M>): void;
  /** Counts a value in a histogram. */
  observe<M extends HistogramMetric>(metric: M, value: number, ...labels: LabelValues<M>): void;
}

/** For durations in seconds. */
const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Declares a counter. Throws INVALID_ARG for names that Prometheus does not allow or that are taken.
 *
 * @example
 * const tokens = counter({ name: 'chat_tokens_total', help: 'Tokens generated.', labels: ['language'] });
 * // in a callable:
 * context.metrics.add(tokens, 12, { language: 'de' });
 */
export function counter<const L extends string = never>(options: MetricOptions<L>): CounterMetric<L> {
  return { kind: 'counter', ...checked(options, 'counter') };
}

/** Declares a gauge. Throws INVALID_ARG for names that Prometheus does not allow or that are taken. */
export function gauge<const L extends string = never>(options: MetricOptions<L>): GaugeMetric<L> {
  return { kind: 'gauge', ...checked(options, 'gauge') };
}

/**
 * Declares a histogram; `buckets` are upper bounds, ascending, by default for durations in seconds up to 10. Throws
 * INVALID_ARG for names and buckets that Prometheus does not allow.
 */
export function histogram<const L extends string = never>(
  options: MetricOptions<L> & { readonly buckets?: readonly number[] },
): HistogramMetric<L> {
  const own = checked(options, 'histogram');
  const buckets = options.buckets ?? DEFAULT_BUCKETS;
  const ascending = buckets.every(
    (bound, index) => Number.isFinite(bound) && (index === 0 || bound > buckets[index - 1]!),
  );
  if (!ascending || buckets.length === 0) {
    throw invalidArg(
      `the buckets of metric '${options.name}' must be finite numbers in ascending order, got [${buckets.join(', ')}]`,
    );
  }
  return { kind: 'histogram', ...own, buckets: [...buckets] };
}

function checked<L extends string>(options: MetricOptions<L>, kind: Metric['kind']) {
  const members = ['name', 'help', 'labels', ...(kind === 'histogram' ? ['buckets'] : [])];
  checkMembers(options, members, `options of a ${kind}`);
  const { name, help, labels = [] } = options;
  const refuse = (message: string) => invalidArg(message);
  if (typeof name !== 'string' || !/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) {
    throw refuse(`the name of a metric must be letters, digits, underscores and colons, got ${JSON.stringify(name)}`);
  }
  if (/^(?:nv_(?!trt_llm_)|tstriton_)/.test(name)) {
    throw refuse(
      `metric '${name}' must not begin with nv_ or tstriton_: these are the server's own (nv_trt_llm_ is a backend's)`,
    );
  }
  if (typeof help !== 'string' || help === '')
    throw refuse(`metric '${name}' needs a help text, got ${JSON.stringify(help)}`);
  const seen = new Set<string>();
  for (const label of labels) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label) || label.startsWith('__')) {
      throw refuse(
        `a label of metric '${name}' must be letters, digits and underscores, not beginning with two, got ${JSON.stringify(label)}`,
      );
    }
    if (RESERVED_LABELS.includes(label)) {
      throw refuse(`metric '${name}' must not have a label '${label}': the server gives it a meaning of its own`);
    }
    if (seen.has(label)) throw refuse(`metric '${name}' has the label '${label}' twice`);
    seen.add(label);
  }
  return { name, help, labels: [...labels] };
}

const RESERVED_LABELS: readonly string[] = ['model', 'version', 'le', 'quantile'];

export type MetricsUpdate = readonly MetricUpdate[];

export interface MetricUpdate {
  readonly metric: Metric;
  readonly series: readonly SeriesUpdate[];
}

/** One combination of label values. */
export interface SeriesUpdate {
  /** In the order of the metric's labels. */
  readonly labels: readonly string[];
  /**
   * For gauges the value that was set, and the sum added since then or since the last update. For counters the added
   * sum.
   */
  readonly set?: number;
  readonly added: number;
  /** Histograms: new observations per bucket, the one above the last bound included; their sum is `added`. */
  readonly counts?: readonly number[];
}
