// Triton's metricsConfig: settings such as `summary_latencies=true` and `summary_quantiles=0.5:0.05,0.9:0.01`.

import type { TargetQuantile } from '../core/metrics/quantile-sketch.js';
import { invalidArg } from '../errors.js';
import { nearest } from '../checks/nearest.js';

export interface MetricsConfig {
  /** Counters of durations. */
  readonly counterLatencies: boolean;
  /** The histogram of times to the first response. */
  readonly histogramLatencies: boolean;
  /** The quantiles of summaries; undefined for no summaries. */
  readonly summaries: readonly TargetQuantile[] | undefined;
}

/** Triton's. */
const DEFAULT_QUANTILES: readonly TargetQuantile[] = [
  { quantile: 0.5, error: 0.05 },
  { quantile: 0.9, error: 0.01 },
  { quantile: 0.95, error: 0.001 },
  { quantile: 0.99, error: 0.001 },
  { quantile: 0.999, error: 0.001 },
];

const SETTINGS = ['counter_latencies', 'histogram_latencies', 'summary_latencies', 'summary_quantiles'];

/** Throws INVALID_ARG naming the setting, the value it got and the value it expected. */
export function parseMetricsConfig(entries: readonly string[]): MetricsConfig {
  const settings = new Map<string, string>();
  for (const entry of entries) {
    const [, name, value] = /^([^=]+)=(.*)$/.exec(entry) ?? [];
    if (name === undefined || value === undefined)
      throw invalidArg(`metricsConfig must be like 'setting=value', got '${entry}'`);
    if (!SETTINGS.includes(name)) {
      const hint = nearest(name, SETTINGS);
      throw invalidArg(
        `metricsConfig has an unknown setting '${name}'; ${hint === undefined ? `known are ${SETTINGS.join(', ')}` : `did you mean '${hint}'?`}`,
      );
    }
    if (settings.has(name)) throw invalidArg(`metricsConfig has '${name}' twice, expected each setting once`);
    settings.set(name, value);
  }
  const summaries = flag(settings, 'summary_latencies', false);
  const quantiles = settings.get('summary_quantiles');
  if (quantiles !== undefined && !summaries) {
    throw invalidArg("metricsConfig: 'summary_quantiles' needs 'summary_latencies=true', got no summaries");
  }
  return {
    counterLatencies: flag(settings, 'counter_latencies', true),
    histogramLatencies: flag(settings, 'histogram_latencies', false),
    summaries: !summaries ? undefined : quantiles === undefined ? DEFAULT_QUANTILES : parseQuantiles(quantiles),
  };
}

function flag(settings: ReadonlyMap<string, string>, name: string, byDefault: boolean): boolean {
  const value = settings.get(name);
  if (value === undefined) return byDefault;
  if (value !== 'true' && value !== 'false')
    throw invalidArg(`metricsConfig: '${name}' must be true or false, got '${value}'`);
  return value === 'true';
}

/** No error is smaller: the exact quantiles of a stream would need all of its values. */
const LEAST_ERROR = 0.0001;

// Numbers are read as Triton reads them, up to their second point: its own tests give `0.1:0.0.1`.
function parseQuantiles(text: string): readonly TargetQuantile[] {
  return text.split(',').map((part) => {
    const [, quantile, error] = /^\s*([0-9.]+):([0-9.]+)\s*$/.exec(part) ?? [];
    const target = { quantile: parseFloat(quantile ?? ''), error: parseFloat(error ?? '') };
    if (!(target.quantile > 0 && target.quantile < 1 && target.error >= 0 && target.error < 1)) {
      throw invalidArg(
        `metricsConfig: 'summary_quantiles' must be like '0.5:0.05,0.9:0.01', quantile and error each between 0 and 1, got '${text}'`,
      );
    }
    return { ...target, error: Math.max(target.error, LEAST_ERROR) };
  });
}
