// Prometheus' text exposition format 0.0.4 of Triton's metrics: the statistics of each model version seen as counters.

import { FAILURE_REASONS, type InferenceStatistics } from '../../core/statistics.js';

export interface ModelReport {
  readonly name: string;
  readonly version: string;
  readonly statistics: InferenceStatistics;
}

export const PROMETHEUS_CONTENT_TYPE = 'text/plain; charset=utf-8';

interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly value: (statistics: InferenceStatistics) => number;
}

const microseconds = ({ ns }: { readonly ns: number }): number => Math.floor(ns / 1000);

const SUCCESS: Family = {
  name: 'nv_inference_request_success',
  type: 'counter',
  help: 'Number of successful inference requests, all batch sizes',
  value: ({ success }) => success.count,
};

/** After the failures, which have a series per reason. */
const FAMILIES: readonly Family[] = [
  {
    name: 'nv_inference_count',
    type: 'counter',
    help: 'Number of inferences performed (does not include cached requests)',
    value: ({ inferenceCount }) => inferenceCount,
  },
  {
    name: 'nv_inference_exec_count',
    type: 'counter',
    help: 'Number of model executions performed (does not include cached requests)',
    value: ({ executionCount }) => executionCount,
  },
  {
    name: 'nv_inference_request_duration_us',
    type: 'counter',
    help: 'Cumulative inference request duration in microseconds (includes cached requests)',
    value: ({ success }) => microseconds(success),
  },
  {
    name: 'nv_inference_queue_duration_us',
    type: 'counter',
    help: 'Cumulative inference queuing duration in microseconds (includes cached requests)',
    value: ({ queue }) => microseconds(queue),
  },
  {
    name: 'nv_inference_compute_input_duration_us',
    type: 'counter',
    help: 'Cumulative compute input duration in microseconds (does not include cached requests)',
    value: ({ computeInput }) => microseconds(computeInput),
  },
  {
    name: 'nv_inference_compute_infer_duration_us',
    type: 'counter',
    help: 'Cumulative compute inference duration in microseconds (does not include cached requests)',
    value: ({ computeInfer }) => microseconds(computeInfer),
  },
  {
    name: 'nv_inference_compute_output_duration_us',
    type: 'counter',
    help: 'Cumulative inference compute output duration in microseconds (does not include cached requests)',
    value: ({ computeOutput }) => microseconds(computeOutput),
  },
  {
    name: 'nv_inference_pending_request_count',
    type: 'gauge',
    help: 'Instantaneous number of pending requests awaiting execution per-model.',
    value: ({ pending }) => pending,
  },
];

/** Families without series are left out, as Triton does. */
export function prometheusText(models: readonly ModelReport[]): string {
  if (models.length === 0) return '';
  return (
    familyText(SUCCESS, models) + failureText(models) + FAMILIES.map((family) => familyText(family, models)).join('')
  );
}

function familyText({ name, type, help, value }: Family, models: readonly ModelReport[]): string {
  const series = models.map(
    ({ name: model, version, statistics }) => `${name}{${labels({ model, version })}} ${value(statistics)}\n`,
  );
  return header(name, type, help) + series.join('');
}

function failureText(models: readonly ModelReport[]): string {
  const name = 'nv_inference_request_failure';
  const series = models.flatMap(({ name: model, version, statistics }) =>
    FAILURE_REASONS.map((reason) => `${name}{${labels({ model, reason, version })}} ${statistics.failures[reason]}\n`),
  );
  return header(name, 'counter', 'Number of failed inference requests, all batch sizes') + series.join('');
}

function header(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

/** In the order given: Triton sorts them by name. */
function labels(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`)
    .join(',');
}
