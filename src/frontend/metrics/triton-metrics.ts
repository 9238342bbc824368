// The metrics of Triton, under its names, with its help texts and in its order: counters, gauges, histograms, summaries.
// Absent, as in a Triton without a GPU: GPU, energy and pinned memory.

import type { Duration } from '../../core/duration.js';
import type { LatencySummaries } from '../../core/metrics/latency-summaries.js';
import type { Summary } from '../../core/metrics/summary.js';
import { FAILURE_REASONS, type InferenceStatistics } from '../../core/statistics.js';
import type { CpuUsage } from './cpu-meter.js';
import type { HistogramSeries, MetricFamily, SummarySeries, ValueSeries } from './metric-family.js';
import { modelLabels, type ServedMetrics, type ServedModel } from './served-metrics.js';

export interface TritonMetricsOptions {
  /** Counters of durations. */
  readonly counterLatencies: boolean;
  /** The histogram of times to the first response. */
  readonly histogramLatencies: boolean;
}

/** `cpu`: undefined where it cannot be told or is not to be. */
export function tritonFamilies(
  { models, cache }: ServedMetrics,
  cpu: CpuUsage | undefined,
  { counterLatencies, histogramLatencies }: TritonMetricsOptions,
): MetricFamily[] {
  const cached = models.filter(({ config }) => config.responseCache && cache !== undefined);
  const families: MetricFamily[] = [
    counter('nv_inference_request_success', 'Number of successful inference requests, all batch sizes', models, ({ success }) => success.count),
    failures(models),
    counter('nv_inference_count', 'Number of inferences performed (does not include cached requests)', models, ({ inferenceCount }) => inferenceCount),
    counter('nv_inference_exec_count', 'Number of model executions performed (does not include cached requests)', models, ({ executionCount }) => executionCount),
  ];
  if (counterLatencies) {
    for (const [name, help, duration] of DURATIONS) {
      families.push(counter(name, help, models, (statistics) => microseconds(duration(statistics))));
    }
    families.push(
      counter('nv_cache_num_hits_per_model', 'Number of cache hits per model', cached, ({ cacheHit }) => cacheHit.count),
      counter('nv_cache_hit_duration_per_model', 'Total cache hit duration per model, in microseconds', cached, ({ cacheHit }) => microseconds(cacheHit)),
      counter('nv_cache_num_misses_per_model', 'Number of cache misses per model', cached, ({ cacheMiss }) => cacheMiss.count),
      counter('nv_cache_miss_duration_per_model', 'Total cache miss (insert+lookup) duration per model, in microseconds', cached, ({ cacheMiss }) => microseconds(cacheMiss)),
    );
  }
  families.push(
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
    gauge('nv_cpu_utilization', 'CPU utilization rate [0.0 - 1.0]', cpu?.utilization),
    gauge('nv_cpu_memory_total_bytes', 'CPU total memory (RAM), in bytes', cpu?.memoryTotalBytes),
    gauge('nv_cpu_memory_used_bytes', 'CPU used memory (RAM), in bytes', cpu?.memoryUsedBytes),
    ...cacheFamilies(cache),
  );
  if (histogramLatencies) families.push(firstResponses(models));
  families.push(...summaryFamilies(models, cached));
  return families;
}

type DurationOf = (statistics: InferenceStatistics) => Duration;

const DURATIONS: readonly (readonly [name: string, help: string, duration: DurationOf])[] = [
  ['nv_inference_request_duration_us', 'Cumulative inference request duration in microseconds (includes cached requests)', ({ success }) => success],
  ['nv_inference_queue_duration_us', 'Cumulative inference queuing duration in microseconds (includes cached requests)', ({ queue }) => queue],
  ['nv_inference_compute_input_duration_us', 'Cumulative compute input duration in microseconds (does not include cached requests)', ({ computeInput }) => computeInput],
  ['nv_inference_compute_infer_duration_us', 'Cumulative compute inference duration in microseconds (does not include cached requests)', ({ computeInfer }) => computeInfer],
  ['nv_inference_compute_output_duration_us', 'Cumulative inference compute output duration in microseconds (does not include cached requests)', ({ computeOutput }) => computeOutput],
];

function microseconds({ ns }: Duration): number {
  return Math.floor(ns / 1000);
}

function counter(
  name: string,
  help: string,
  models: readonly ServedModel[],
  value: (statistics: InferenceStatistics) => number,
): MetricFamily {
  const series = models.map((model) => ({ labels: modelLabels(model), value: value(model.statistics) }));
  return { name, help, type: 'counter', series };
}

function failures(models: readonly ServedModel[]): MetricFamily {
  const series = models.flatMap(({ config, statistics }) =>
    FAILURE_REASONS.map((reason): ValueSeries => {
      const labels = [['model', config.name], ['reason', reason], ['version', String(config.version)]] as const;
      return { labels, value: statistics.failures[reason] };
    }),
  );
  return { name: 'nv_inference_request_failure', help: 'Number of failed inference requests, all batch sizes', type: 'counter', series };
}

function gauge(name: string, help: string, value: number | undefined): MetricFamily {
  return { name, help, type: 'gauge', series: value === undefined ? [] : [{ labels: [], value }] };
}

function cacheFamilies(cache: ServedMetrics['cache']): MetricFamily[] {
  if (cache === undefined) return [];
  const { lookups, hits, evictions, lookupMs, insertionMs } = cache.usage;
  return [
    gauge('nv_cache_util', 'Cache utilization [0.0 - 1.0]', cache.byteSize / cache.capacity),
    gauge('nv_cache_num_entries', 'Number of responses stored in response cache', cache.size),
    gauge('nv_cache_num_hits', 'Number of cache hits in response cache', hits),
    gauge('nv_cache_num_misses', 'Number of cache misses in response cache', lookups - hits),
    gauge('nv_cache_num_lookups', 'Number of cache lookups in response cache', lookups),
    gauge('nv_cache_num_evictions', 'Number of cache evictions in response cache', evictions),
    gauge('nv_cache_lookup_duration', 'Total cache lookup duration (hit and miss), in microseconds', Math.floor(lookupMs * 1000)),
    gauge('nv_cache_insertion_duration', 'Total cache insertion duration, in microseconds', Math.floor(insertionMs * 1000)),
  ];
}

/** Upper bounds in milliseconds; each is one of the bounds in seconds that the durations are counted by. */
const FIRST_RESPONSE_BOUNDS = [100, 500, 2000, 5000];

function firstResponses(models: readonly ServedModel[]): MetricFamily {
  const series = models
    .filter(({ config }) => config.decoupled)
    .map((model): HistogramSeries => {
      const { bounds, count, sum, ...histogram } = countsOf(model.statistics);
      return { labels: modelLabels(model), histogram: { bounds, count, sum, ...histogram } };
    });
  return {
    name: 'nv_inference_first_response_histogram_ms',
    help: 'Duration from request to first response in milliseconds',
    type: 'histogram',
    series,
  };
}

function countsOf({ firstResponse }: InferenceStatistics): HistogramSeries['histogram'] {
  const finer = firstResponse.cumulative();
  const below = FIRST_RESPONSE_BOUNDS.map((bound) => finer[firstResponse.bounds.indexOf(bound / 1000)]!);
  return {
    bounds: FIRST_RESPONSE_BOUNDS,
    cumulative: () => below,
    count: firstResponse.count,
    sum: firstResponse.sum * 1000,
  };
}

function summaryFamilies(models: readonly ServedModel[], cached: readonly ServedModel[]): MetricFamily[] {
  const now = performance.now();
  // As Triton, which leaves models with a cache out of this one.
  const uncached = models.filter((model) => !cached.includes(model));
  const family = (
    name: string,
    help: string,
    of: readonly ServedModel[],
    summary: (summaries: LatencySummaries) => Summary,
  ): MetricFamily => ({
    name,
    help,
    type: 'summary',
    series: of.flatMap((model): SummarySeries[] => {
      const { summaries } = model.statistics;
      if (summaries === undefined) return [];
      const { count, sum, targets, ...rest } = { ...totals(summary(summaries), now) };
      return [{ labels: modelLabels(model), count, sum, quantiles: targets, ...rest }];
    }),
  });
  return [
    family('nv_inference_request_summary_us', 'Summary of inference request duration in microseconds (includes cached requests)', uncached, ({ request }) => request),
    family('nv_inference_queue_summary_us', 'Summary of inference queuing duration in microseconds (includes cached requests)', models, ({ queue }) => queue),
    family('nv_inference_compute_input_summary_us', 'Cumulative compute input duration in microseconds (does not include cached requests)', models, ({ computeInput }) => computeInput),
    family('nv_inference_compute_infer_summary_us', 'Cumulative compute inference duration in microseconds (does not include cached requests)', models, ({ computeInfer }) => computeInfer),
    family('nv_inference_compute_output_summary_us', 'Cumulative inference compute output duration in microseconds (does not include cached requests)', models, ({ computeOutput }) => computeOutput),
    family('nv_cache_hit_summary_per_model', 'Summary of cache hit counts/durations per model, in microseconds.', cached, ({ cacheHit }) => cacheHit),
    family('nv_cache_miss_summary_per_model', 'Summary of cache miss counts/durations per model, in microseconds.', cached, ({ cacheMiss }) => cacheMiss),
  ];
}
