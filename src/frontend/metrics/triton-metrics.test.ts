import { describe, expect, it } from 'vitest';

import { familyLines, servedModel, statisticsAfterWork } from '../../../test/support/served-models.js';
import { InferenceStatistics } from '../../core/scheduler/statistics.js';
import { prometheusText } from './prometheus-text.js';
import type { MeasuredMetrics } from '../measured-metrics.js';
import { tritonFamilies, type TritonMetricsOptions } from './triton-metrics.js';

const DEFAULTS: TritonMetricsOptions = { counterLatencies: true, histogramLatencies: false };
const CACHE: MeasuredMetrics['cache'] = {
  byteSize: 250,
  capacity: 1000,
  size: 2,
  usage: { lookups: 11, hits: 7, misses: 3, evictions: 1, lookupMs: 0.0129, insertionMs: 0.5 },
};

function text(served: Partial<MeasuredMetrics>, options: Partial<TritonMetricsOptions> = {}): string {
  return prometheusText(
    tritonFamilies({ models: [], cache: undefined, ...served }, undefined, { ...DEFAULTS, ...options }),
  );
}

function names(written: string): string[] {
  return Array.from(written.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name!);
}

describe('the metrics of Triton', () => {
  it('have every family of counters with its help, type and series', () => {
    const labels = 'model="m",version="1"';
    expect(text({ models: [servedModel('m', { statistics: statisticsAfterWork() })] })).toBe(
      `# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{${labels}} 2
# HELP nv_inference_request_failure Number of failed inference requests, all batch sizes
# TYPE nv_inference_request_failure counter
nv_inference_request_failure{model="m",reason="REJECTED",version="1"} 1
nv_inference_request_failure{model="m",reason="CANCELED",version="1"} 0
nv_inference_request_failure{model="m",reason="BACKEND",version="1"} 0
nv_inference_request_failure{model="m",reason="OTHER",version="1"} 0
# HELP nv_inference_count Number of inferences performed (does not include cached requests)
# TYPE nv_inference_count counter
nv_inference_count{${labels}} 3
# HELP nv_inference_exec_count Number of model executions performed (does not include cached requests)
# TYPE nv_inference_exec_count counter
nv_inference_exec_count{${labels}} 1
# HELP nv_inference_request_duration_us Cumulative inference request duration in microseconds (includes cached requests)
# TYPE nv_inference_request_duration_us counter
nv_inference_request_duration_us{${labels}} 22000
# HELP nv_inference_queue_duration_us Cumulative inference queuing duration in microseconds (includes cached requests)
# TYPE nv_inference_queue_duration_us counter
nv_inference_queue_duration_us{${labels}} 4000
# HELP nv_inference_compute_input_duration_us Cumulative compute input duration in microseconds (does not include cached requests)
# TYPE nv_inference_compute_input_duration_us counter
nv_inference_compute_input_duration_us{${labels}} 1000
# HELP nv_inference_compute_infer_duration_us Cumulative compute inference duration in microseconds (does not include cached requests)
# TYPE nv_inference_compute_infer_duration_us counter
nv_inference_compute_infer_duration_us{${labels}} 4003
# HELP nv_inference_compute_output_duration_us Cumulative inference compute output duration in microseconds (does not include cached requests)
# TYPE nv_inference_compute_output_duration_us counter
nv_inference_compute_output_duration_us{${labels}} 500
# HELP nv_inference_pending_request_count Instantaneous number of pending requests awaiting execution per-model.
# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{${labels}} 4
`,
    );
  });

  it('have the series of all models under one heading', () => {
    const models = [servedModel('a'), servedModel('a', { version: 2 }), servedModel('b')];
    expect(familyLines(text({ models }), 'nv_inference_count').slice(2)).toEqual([
      'nv_inference_count{model="a",version="1"} 0',
      'nv_inference_count{model="a",version="2"} 0',
      'nv_inference_count{model="b",version="1"} 0',
    ]);
  });

  it('are none without models', () => {
    expect(text({})).toBe('');
  });

  it('lose the durations with counter_latencies=false, and keep the counts', () => {
    const models = [servedModel('m', { responseCache: true, statistics: statisticsAfterWork() })];
    const written = text({ models, cache: CACHE }, { counterLatencies: false });
    expect(names(written).filter((name) => /duration|per_model/.test(name))).toEqual([
      'nv_cache_lookup_duration',
      'nv_cache_insertion_duration',
    ]);
    expect(written).toContain('nv_inference_request_success{model="m",version="1"} 2\n');
  });

  it('have the load time of models that are loaded', () => {
    const statistics = new InferenceStatistics();
    statistics.recordLoad(1500);
    const models = [servedModel('loaded', { statistics }), servedModel('other')];
    expect(familyLines(text({ models }), 'nv_model_load_duration_secs')).toEqual([
      '# HELP nv_model_load_duration_secs Model load time in seconds',
      '# TYPE nv_model_load_duration_secs gauge',
      'nv_model_load_duration_secs{model="loaded",version="1"} 1.5',
    ]);
  });

  it("have the machine's processors and memory where they can be told", () => {
    const cpu = { utilization: 0.25, memoryTotalBytes: 2048, memoryUsedBytes: 1024 };
    expect(prometheusText(tritonFamilies({ models: [], cache: undefined }, cpu, DEFAULTS))).toBe(
      `# HELP nv_cpu_utilization CPU utilization rate [0.0 - 1.0]
# TYPE nv_cpu_utilization gauge
nv_cpu_utilization 0.25
# HELP nv_cpu_memory_total_bytes CPU total memory (RAM), in bytes
# TYPE nv_cpu_memory_total_bytes gauge
nv_cpu_memory_total_bytes 2048
# HELP nv_cpu_memory_used_bytes CPU used memory (RAM), in bytes
# TYPE nv_cpu_memory_used_bytes gauge
nv_cpu_memory_used_bytes 1024
`,
    );
  });
});

describe('the metrics of the response cache', () => {
  it('are there for the cache and for the models that use it', () => {
    const statistics = new InferenceStatistics();
    statistics.recordCacheHit(1, 0.5, 0.0123);
    statistics.recordCacheMiss(0.25);
    const models = [servedModel('cached', { responseCache: true, statistics }), servedModel('plain')];
    const written = text({ models, cache: CACHE });
    expect(written.split('\n').filter((line) => line.startsWith('nv_cache_'))).toEqual([
      'nv_cache_num_hits_per_model{model="cached",version="1"} 1',
      'nv_cache_hit_duration_per_model{model="cached",version="1"} 12',
      'nv_cache_num_misses_per_model{model="cached",version="1"} 1',
      'nv_cache_miss_duration_per_model{model="cached",version="1"} 250',
      'nv_cache_util 0.25',
      'nv_cache_num_entries 2',
      'nv_cache_num_hits 7',
      'nv_cache_num_misses 3',
      'nv_cache_num_lookups 11',
      'nv_cache_num_evictions 1',
      'nv_cache_lookup_duration 12',
      'nv_cache_insertion_duration 500',
    ]);
  });

  it('are absent without a cache', () => {
    expect(text({ models: [servedModel('m', { responseCache: true })] })).not.toContain('nv_cache');
  });
});

describe('the time to the first response', () => {
  const statistics = new InferenceStatistics();
  for (const milliseconds of [50, 100, 300, 1999, 6000]) statistics.recordFirstResponse(milliseconds);
  const models = [servedModel('stream', { decoupled: true, statistics })];
  const plain = servedModel('plain', { statistics: statisticsAfterWork() });

  it("is a histogram of decoupled models with Triton's buckets, in milliseconds", () => {
    expect(
      familyLines(text({ models }, { histogramLatencies: true }), 'nv_inference_first_response_histogram_ms'),
    ).toEqual([
      '# HELP nv_inference_first_response_histogram_ms Duration from request to first response in milliseconds',
      '# TYPE nv_inference_first_response_histogram_ms histogram',
      'nv_inference_first_response_histogram_ms_count{model="stream",version="1"} 5',
      'nv_inference_first_response_histogram_ms_sum{model="stream",version="1"} 8449',
      'nv_inference_first_response_histogram_ms_bucket{model="stream",version="1",le="100"} 2',
      'nv_inference_first_response_histogram_ms_bucket{model="stream",version="1",le="500"} 3',
      'nv_inference_first_response_histogram_ms_bucket{model="stream",version="1",le="2000"} 4',
      'nv_inference_first_response_histogram_ms_bucket{model="stream",version="1",le="5000"} 4',
      'nv_inference_first_response_histogram_ms_bucket{model="stream",version="1",le="+Inf"} 5',
    ]);
  });

  it('of ordinary models is that to their only response', () => {
    const lines = familyLines(
      text({ models: [plain] }, { histogramLatencies: true }),
      'nv_inference_first_response_histogram_ms',
    );
    expect(lines).toContain('nv_inference_first_response_histogram_ms_count{model="plain",version="1"} 2');
    expect(lines).toContain('nv_inference_first_response_histogram_ms_sum{model="plain",version="1"} 22');
    expect(lines).toContain('nv_inference_first_response_histogram_ms_bucket{model="plain",version="1",le="100"} 2');
  });

  it('is absent unless asked for', () => {
    expect(text({ models: [...models, plain] })).not.toContain('first_response');
  });
});

describe('summaries', () => {
  const targets = [{ quantile: 0.5, error: 0.05 }];
  const summarised = () => statisticsAfterWork(new InferenceStatistics(targets));

  it('are there for every duration when asked for, those of the cache for models that use it', () => {
    const models = [
      servedModel('plain', { statistics: summarised() }),
      servedModel('cached', { responseCache: true, statistics: summarised() }),
    ];
    const written = text({ models, cache: CACHE });
    expect(names(written).filter((name) => name.includes('summary'))).toEqual([
      'nv_inference_request_summary_us',
      'nv_inference_queue_summary_us',
      'nv_inference_compute_input_summary_us',
      'nv_inference_compute_infer_summary_us',
      'nv_inference_compute_output_summary_us',
      'nv_cache_hit_summary_per_model',
      'nv_cache_miss_summary_per_model',
    ]);
    expect(familyLines(written, 'nv_inference_request_summary_us').slice(2)).toEqual([
      'nv_inference_request_summary_us_count{model="plain",version="1"} 2',
      'nv_inference_request_summary_us_sum{model="plain",version="1"} 22000',
      'nv_inference_request_summary_us{model="plain",version="1",quantile="0.5"} 10000',
    ]);
    expect(familyLines(written, 'nv_cache_hit_summary_per_model').slice(2)).toEqual([
      'nv_cache_hit_summary_per_model_count{model="cached",version="1"} 0',
      'nv_cache_hit_summary_per_model_sum{model="cached",version="1"} 0',
      'nv_cache_hit_summary_per_model{model="cached",version="1",quantile="0.5"} NaN',
    ]);
  });

  it('come behind all other metrics', () => {
    const written = names(text({ models: [servedModel('m', { statistics: summarised() })] }));
    const first = written.findIndex((name) => name.includes('summary'));
    expect(written.slice(first).every((name) => name.includes('summary'))).toBe(true);
    expect(first).toBeGreaterThan(9);
  });
});
