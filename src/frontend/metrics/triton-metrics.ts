// The metrics of Triton, under its names, with its help texts and in its order: counters, gauges, histograms, summaries. GPU,
// energy and pinned memory are absent, as in a Triton without a GPU.

import type { LatencySummaries } from '../../core/metrics/latency-summaries.js';
import type { Summary } from '../../core/metrics/summary.js';
import { type Duration, FAILURE_REASONS, type InferenceStatistics } from '../../core/scheduler/statistics.js';
import type { CpuUsage } from './cpu-meter.js';
import type { MeasuredMetrics, MeasuredModel } from '../measured-metrics.js';
import { type HistogramSeries, type MetricFamily, type ValueSeries, modelLabels } from './prometheus-text.js';

export interface TritonMetricsOptions {
  /** Whether counters of durations are shown. */
  readonly counterLatencies: boolean;
  /** Whether the histogram of times to the first response is shown. */
  readonly histogramLatencies: boolean;
}

/** `cpu` is undefined where it is unknown or switched off. */
export function tritonFamilies(
  { models, cache }: MeasuredMetrics,
  cpu: CpuUsage | undefined,
  { counterLatencies, histogramLatencies }: TritonMetricsOptions,
): MetricFamily[] {
  const cached = models.filter(({ config }) => config.responseCache && cache !== undefined);
  const uncached = models.filter((model) => !cached.includes(model));
  return [
    counter(SUCCESS, models),
    failures(models),
    ...COUNTS.map((row) => counter(row, models)),
    ...(counterLatencies ? DURATIONS.map((row) => counter(row, models)) : []),
    ...(counterLatencies ? CACHE_COUNTERS.map((row) => counter(row, cached)) : []),
    ...modelGauges(models),
    gauge('nv_cpu_utilization', 'CPU utilization rate [0.0 - 1.0]', cpu?.utilization),
    gauge('nv_cpu_memory_total_bytes', 'CPU total memory (RAM), in bytes', cpu?.memoryTotalBytes),
    gauge('nv_cpu_memory_used_bytes', 'CPU used memory (RAM), in bytes', cpu?.memoryUsedBytes),
    ...cacheGauges(cache),
    ...(histogramLatencies ? [firstResponses(models)] : []),
    // Triton leaves models with a cache out of this summary.
    summary(REQUEST_SUMMARY, uncached),
    ...SUMMARIES.map((row) => summary(row, models)),
    ...CACHE_SUMMARIES.map((row) => summary(row, cached)),
  ];
}

type CounterRow = readonly [name: string, help: string, value: (statistics: InferenceStatistics) => number];

const SUCCESS: CounterRow = [
  'nv_inference_request_success',
  'Number of successful inference requests, all batch sizes',
  ({ success }) => success.count,
];

const COUNTS: readonly CounterRow[] = [
  [
    'nv_inference_count',
    'Number of inferences performed (does not include cached requests)',
    ({ inferenceCount }) => inferenceCount,
  ],
  [
    'nv_inference_exec_count',
    'Number of model executions performed (does not include cached requests)',
    ({ executionCount }) => executionCount,
  ],
];

const DURATIONS: readonly CounterRow[] = [
  [
    'nv_inference_request_duration_us',
    'Cumulative inference request duration in microseconds (includes cached requests)',
    ({ success }) => microseconds(success),
  ],
  [
    'nv_inference_queue_duration_us',
    'Cumulative inference queuing duration in microseconds (includes cached requests)',
    ({ queue }) => microseconds(queue),
  ],
  [
    'nv_inference_compute_input_duration_us',
    'Cumulative compute input duration in microseconds (does not include cached requests)',
    ({ computeInput }) => microseconds(computeInput),
  ],
  [
    'nv_inference_compute_infer_duration_us',
    'Cumulative compute inference duration in microseconds (does not include cached requests)',
    ({ computeInfer }) => microseconds(computeInfer),
  ],
  [
    'nv_inference_compute_output_duration_us',
    'Cumulative inference compute output duration in microseconds (does not include cached requests)',
    ({ computeOutput }) => microseconds(computeOutput),
  ],
];

const CACHE_COUNTERS: readonly CounterRow[] = [
  ['nv_cache_num_hits_per_model', 'Number of cache hits per model', ({ cacheHit }) => cacheHit.count],
  [
    'nv_cache_hit_duration_per_model',
    'Total cache hit duration per model, in microseconds',
    ({ cacheHit }) => microseconds(cacheHit),
  ],
  ['nv_cache_num_misses_per_model', 'Number of cache misses per model', ({ cacheMiss }) => cacheMiss.count],
  [
    'nv_cache_miss_duration_per_model',
    'Total cache miss (insert+lookup) duration per model, in microseconds',
    ({ cacheMiss }) => microseconds(cacheMiss),
  ],
];

function microseconds({ ns }: Duration): number {
  return Math.floor(ns / 1000);
}

function counter([name, help, value]: CounterRow, models: readonly MeasuredModel[]): MetricFamily {
  const series = models.map((model) => ({ labels: modelLabels(model), value: value(model.statistics) }));
  return { name, help, type: 'counter', series };
}

function failures(models: readonly MeasuredModel[]): MetricFamily {
  const series = models.flatMap(({ config, statistics }) =>
    FAILURE_REASONS.map((reason): ValueSeries => {
      const labels = [
        ['model', config.name],
        ['reason', reason],
        ['version', String(config.version)],
      ] as const;
      return { labels, value: statistics.failures[reason] };
    }),
  );
  const help = 'Number of failed inference requests, all batch sizes';
  return { name: 'nv_inference_request_failure', help, type: 'counter', series };
}

function modelGauges(models: readonly MeasuredModel[]): MetricFamily[] {
  return [
    {
      name: 'nv_inference_pending_request_count',
      help: 'Instantaneous number of pending requests awaiting execution per-model.',
      type: 'gauge',
      series: models.map((model) => ({ labels: modelLabels(model), value: model.statistics.pending })),
    },
    {
      name: 'nv_model_load_duration_secs',
      help: 'Model load time in seconds',
      type: 'gauge',
      series: models.flatMap((model) => {
        const { loadSeconds } = model.statistics;
        return loadSeconds === undefined ? [] : [{ labels: modelLabels(model), value: loadSeconds }];
      }),
    },
  ];
}

function gauge(name: string, help: string, value: number | undefined): MetricFamily {
  return { name, help, type: 'gauge', series: value === undefined ? [] : [{ labels: [], value }] };
}

function cacheGauges(cache: MeasuredMetrics['cache']): MetricFamily[] {
  if (cache === undefined) return [];
  const { lookups, hits, misses, evictions, lookupMs, insertionMs } = cache.usage;
  const micros = (milliseconds: number) => Math.floor(milliseconds * 1000);
  return [
    gauge('nv_cache_util', 'Cache utilization [0.0 - 1.0]', cache.byteSize / cache.capacity),
    gauge('nv_cache_num_entries', 'Number of responses stored in response cache', cache.size),
    gauge('nv_cache_num_hits', 'Number of cache hits in response cache', hits),
    gauge('nv_cache_num_misses', 'Number of cache misses in response cache', misses),
    gauge('nv_cache_num_lookups', 'Number of cache lookups in response cache', lookups),
    gauge('nv_cache_num_evictions', 'Number of cache evictions in response cache', evictions),
    gauge('nv_cache_lookup_duration', 'Total cache lookup duration (hit and miss), in microseconds', micros(lookupMs)),
    gauge('nv_cache_insertion_duration', 'Total cache insertion duration, in microseconds', micros(insertionMs)),
  ];
}

/** Upper bounds in milliseconds. Each is also a bound, in seconds, of the buckets that count the durations. */
const FIRST_RESPONSE_BOUNDS = [100, 500, 2000, 5000];

/** The only response of an ordinary model is its first. */
function firstResponses(models: readonly MeasuredModel[]): MetricFamily {
  return {
    name: 'nv_inference_first_response_histogram_ms',
    help: 'Duration from request to first response in milliseconds',
    type: 'histogram',
    series: models.map((model) => {
      const { firstResponse, requestDuration } = model.statistics;
      const seconds = model.config.decoupled ? firstResponse : requestDuration;
      return { labels: modelLabels(model), histogram: inMilliseconds(seconds) };
    }),
  };
}

function inMilliseconds(seconds: HistogramSeries['histogram']): HistogramSeries['histogram'] {
  const { bounds, count, sum } = seconds;
  const finer = seconds.cumulative();
  const below = FIRST_RESPONSE_BOUNDS.map((bound) => finer[bounds.indexOf(bound / 1000)]!);
  return { bounds: FIRST_RESPONSE_BOUNDS, count, sum: sum * 1000, cumulative: () => below };
}

type SummaryRow = readonly [name: string, help: string, summary: (summaries: LatencySummaries) => Summary];

const REQUEST_SUMMARY: SummaryRow = [
  'nv_inference_request_summary_us',
  'Summary of inference request duration in microseconds (includes cached requests)',
  ({ request }) => request,
];

const SUMMARIES: readonly SummaryRow[] = [
  [
    'nv_inference_queue_summary_us',
    'Summary of inference queuing duration in microseconds (includes cached requests)',
    ({ queue }) => queue,
  ],
  [
    'nv_inference_compute_input_summary_us',
    'Cumulative compute input duration in microseconds (does not include cached requests)',
    ({ computeInput }) => computeInput,
  ],
  [
    'nv_inference_compute_infer_summary_us',
    'Cumulative compute inference duration in microseconds (does not include cached requests)',
    ({ computeInfer }) => computeInfer,
  ],
  [
    'nv_inference_compute_output_summary_us',
    'Cumulative inference compute output duration in microseconds (does not include cached requests)',
    ({ computeOutput }) => computeOutput,
  ],
];

const CACHE_SUMMARIES: readonly SummaryRow[] = [
  [
    'nv_cache_hit_summary_per_model',
    'Summary of cache hit counts/durations per model, in microseconds.',
    ({ cacheHit }) => cacheHit,
  ],
  [
    'nv_cache_miss_summary_per_model',
    'Summary of cache miss counts/durations per model, in microseconds.',
    ({ cacheMiss }) => cacheMiss,
  ],
];

function summary([name, help, of]: SummaryRow, models: readonly MeasuredModel[]): MetricFamily {
  const now = performance.now();
  const series = models.flatMap((model) => {
    if (model.statistics.summaries === undefined) return [];
    const one = of(model.statistics.summaries);
    const values = one.quantiles(now);
    const quantiles = one.targets.map(({ quantile }, index) => [quantile, values[index]!] as const);
    return [{ labels: modelLabels(model), count: one.count, sum: one.sum, quantiles }];
  });
  return { name, help, type: 'summary', series };
}
