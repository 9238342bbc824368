import { describe, expect, it } from 'vitest';

import { readTritonConfig } from './read-triton-config.js';
import type { TritonConfig } from './generated/triton-config.js';

function metricsOf(given: TritonConfig, environment: Record<string, string> = {}) {
  const { metricsConfig, metricsIntervalMs, allowCpuMetrics, allowGpuMetrics } = readTritonConfig(
    given,
    environment,
  ).config;
  return { metricsConfig, metricsIntervalMs, allowCpuMetrics, allowGpuMetrics };
}

const COUNTERS = { counterLatencies: true, histogramLatencies: false, summaries: undefined };

describe('the options of metrics', () => {
  it('have the defaults of Triton, but for GPUs', () => {
    expect(metricsOf({})).toEqual({
      metricsConfig: COUNTERS,
      metricsIntervalMs: 2000,
      allowCpuMetrics: true,
      allowGpuMetrics: false,
    });
  });

  it('are one setting or a list of them', () => {
    expect(metricsOf({ metricsConfig: 'histogram_latencies=true' }).metricsConfig.histogramLatencies).toBe(true);
    const metricsConfig = ['summary_latencies=true', 'summary_quantiles=0.5:0.05,0.9:0.01'];
    expect(metricsOf({ metricsConfig }).metricsConfig.summaries).toHaveLength(2);
  });

  it('come from the environment, settings with a semicolon between them', () => {
    const environment = {
      TSTRITON_CONFIG_METRICS_CONFIG:
        'summary_latencies=true;summary_quantiles=0.5:0.05,0.9:0.01;counter_latencies=false',
      PYTRITON_TRITON_CONFIG_METRICS_INTERVAL_MS: '500',
      PYTRITON_TRITON_CONFIG_ALLOW_CPU_METRICS: 'false',
      PYTRITON_TRITON_CONFIG_ALLOW_GPU_METRICS: 'false',
    };
    const { metricsConfig, ...others } = metricsOf({}, environment);
    expect(others).toEqual({ metricsIntervalMs: 500, allowCpuMetrics: false, allowGpuMetrics: false });
    expect(metricsConfig).toMatchObject({ counterLatencies: false, histogramLatencies: false });
    expect(metricsConfig.summaries).toHaveLength(2);
  });

  it.each<[string, TritonConfig, string, string]>([
    [
      'GPU metrics',
      { allowGpuMetrics: true },
      'UNSUPPORTED',
      'allowGpuMetrics: TSTriton has no GPU metrics, expected false',
    ],
    [
      'no interval',
      { metricsIntervalMs: 0 },
      'INVALID_ARG',
      'metricsIntervalMs must be an integer from 1 to 2147483647, got 0',
    ],
    ['an unknown setting', { metricsConfig: ['x=1'] }, 'INVALID_ARG', "metricsConfig has an unknown setting 'x'"],
  ])('refuse %s', (_, given, code, message) => {
    expect(() => readTritonConfig(given, {})).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) as string }),
    );
  });
});
