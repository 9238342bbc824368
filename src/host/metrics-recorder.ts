// Collects one callable's own metrics until another message takes them to the server. Metrics never make a message of
// their own, and nothing is sent while nothing is recorded.

import { textOf } from '../checks/check.js';
import { TritonError } from '../errors.js';
import type {
  CounterMetric,
  GaugeMetric,
  HistogramMetric,
  LabelValues,
  Metric,
  Metrics,
  MetricsUpdate,
} from '../observability/metrics.js';

interface PendingSeries {
  readonly labels: readonly string[];
  set?: number;
  added: number;
  counts?: number[];
}

export class MetricsRecorder implements Metrics {
  #pending = new Map<Metric, Map<string, PendingSeries>>();

  add<M extends CounterMetric | GaugeMetric>(metric: M, amount: number, ...labels: LabelValues<M>): void {
    if (metric.kind !== 'counter' && metric.kind !== 'gauge') throw wrongKind(metric, 'added to', 'a counter or gauge');
    if (!Number.isFinite(amount) || (metric.kind === 'counter' && amount < 0)) {
      const expected = metric.kind === 'counter' ? 'a finite number >= 0' : 'a finite number';
      throw new TritonError(
        'INTERNAL',
        `${metric.kind} '${metric.name}' can be added ${expected} only, got ${textOf(amount)}`,
      );
    }
    this.#series(metric, labels[0]).added += amount;
  }

  set<M extends GaugeMetric>(metric: M, value: number, ...labels: LabelValues<M>): void {
    if (metric.kind !== 'gauge') throw wrongKind(metric, 'set', 'a gauge');
    if (typeof value !== 'number') {
      throw new TritonError('INTERNAL', `gauge '${metric.name}' must be set to a number, got ${typeof value}`);
    }
    const series = this.#series(metric, labels[0]);
    series.set = value;
    series.added = 0;
  }

  observe<M extends HistogramMetric>(metric: M, value: number, ...labels: LabelValues<M>): void {
    if (metric.kind !== 'histogram') throw wrongKind(metric, 'observed', 'a histogram');
    if (!Number.isFinite(value)) {
      throw new TritonError('INTERNAL', `histogram '${metric.name}' takes finite numbers only, got ${textOf(value)}`);
    }
    const series = this.#series(metric, labels[0]);
    series.counts ??= new Array<number>(metric.buckets.length + 1).fill(0);
    let bucket = metric.buckets.findIndex((bound) => value <= bound);
    if (bucket < 0) bucket = metric.buckets.length;
    series.counts[bucket]!++;
    series.added += value;
  }

  /** Takes the metrics that were recorded since the last call; undefined when there are none. */
  take(): MetricsUpdate | undefined {
    if (this.#pending.size === 0) return undefined;
    const update = [...this.#pending].map(([metric, series]) => ({ metric, series: [...series.values()] }));
    this.#pending = new Map();
    return update;
  }

  #series(metric: Metric, given: Readonly<Record<string, string>> | undefined): PendingSeries {
    const labels = labelsOf(metric, given);
    let all = this.#pending.get(metric);
    if (all === undefined) this.#pending.set(metric, (all = new Map()));
    const key = labels.length === 0 ? '' : JSON.stringify(labels);
    let series = all.get(key);
    if (series === undefined) all.set(key, (series = { labels, added: 0 }));
    return series;
  }
}

/** The label values, in the order of the declaration. */
function labelsOf(metric: Metric, given: Readonly<Record<string, string>> = {}): readonly string[] {
  const values = metric.labels.map((name) => given[name]);
  const complete = values.every((value) => typeof value === 'string') && Object.keys(given).length === values.length;
  if (complete) return values as string[];
  const got = Object.entries(given).map(([name, value]) =>
    typeof value === 'string' ? name : `${name} of type ${typeof value}`,
  );
  throw new TritonError(
    'INTERNAL',
    `metric '${metric.name}' has the labels [${metric.labels.join(', ')}] with string values, got [${got.join(', ')}]`,
  );
}

function wrongKind({ kind, name }: Metric, what: string, expected: string): TritonError {
  return new TritonError('INTERNAL', `'${name}' is a ${kind} and cannot be ${what}, expected ${expected}`);
}
