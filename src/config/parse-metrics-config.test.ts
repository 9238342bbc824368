import { describe, expect, it } from 'vitest';

import { parseMetricsConfig } from './parse-metrics-config.js';

describe('the settings of metrics', () => {
  it('are counters alone by default', () => {
    expect(parseMetricsConfig([])).toEqual({ counterLatencies: true, histogramLatencies: false, summaries: undefined });
  });

  it("have Triton's quantiles unless others are given", () => {
    const { summaries } = parseMetricsConfig(['summary_latencies=true']);
    expect(summaries?.map(({ quantile, error }) => `${quantile}:${error}`).join()).toBe(
      '0.5:0.05,0.9:0.01,0.95:0.001,0.99:0.001,0.999:0.001',
    );
    // Triton's own tests have this value, whose error Triton reads as 0.
    expect(parseMetricsConfig(['summary_latencies=true', 'summary_quantiles=0.1:0.0.1,0.5:0']).summaries).toEqual([
      { quantile: 0.1, error: 0.0001 },
      { quantile: 0.5, error: 0.0001 },
    ]);
    expect(parseMetricsConfig(['summary_latencies=true', 'summary_quantiles=0.25:0.1, 0.75:0.02']).summaries).toEqual([
      { quantile: 0.25, error: 0.1 },
      { quantile: 0.75, error: 0.02 },
    ]);
  });

  it('turn each kind on and off', () => {
    expect(
      parseMetricsConfig(['histogram_latencies=true', 'counter_latencies=false', 'summary_latencies=false']),
    ).toEqual({
      counterLatencies: false,
      histogramLatencies: true,
      summaries: undefined,
    });
  });

  it.each<[string, string[], string]>([
    ['without a value', ['summary_latencies'], "metricsConfig must be like 'setting=value', got 'summary_latencies'"],
    [
      'of an unknown name',
      ['summary_latency=true'],
      "metricsConfig has an unknown setting 'summary_latency'; did you mean 'summary_latencies'?",
    ],
    [
      'of a name like none',
      ['x=true'],
      "unknown setting 'x'; known are counter_latencies, histogram_latencies, summary_latencies, summary_quantiles",
    ],
    ['twice', ['counter_latencies=true', 'counter_latencies=false'], "metricsConfig has 'counter_latencies' twice"],
    ['with another value', ['counter_latencies=no'], "'counter_latencies' must be true or false, got 'no'"],
    [
      'of quantiles without summaries',
      ['summary_quantiles=0.5:0.05'],
      "'summary_quantiles' needs 'summary_latencies=true'",
    ],
    [
      'of quantiles without errors',
      ['summary_latencies=true', 'summary_quantiles=0.5'],
      "'summary_quantiles' must be like '0.5:0.05,0.9:0.01'",
    ],
    ['of quantiles beyond 1', ['summary_latencies=true', 'summary_quantiles=50:0.05'], "got '50:0.05'"],
    ['of no quantiles', ['summary_latencies=true', 'summary_quantiles='], "got ''"],
  ])('are refused %s', (_, entries, message) => {
    expect(() => parseMetricsConfig(entries)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining(message) as string }),
    );
  });
});
