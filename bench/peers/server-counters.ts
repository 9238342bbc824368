// What a server counted of one model: Triton's statistics extension and its metrics, which are to say the same.

import { isDeepStrictEqual } from 'node:util';

import type { ServerPorts } from './our-batching-server.js';

const DURATIONS = [
  'success',
  'fail',
  'queue',
  'compute_input',
  'compute_infer',
  'compute_output',
  'cache_hit',
  'cache_miss',
] as const;
const METRICS = [
  'nv_inference_request_success',
  'nv_inference_count',
  'nv_inference_exec_count',
  'nv_cache_num_hits_per_model',
  'nv_cache_num_misses_per_model',
  'nv_inference_pending_request_count',
] as const;
const REASONS = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'] as const;

type Duration = { readonly count: number; readonly ns: number };

export interface ModelCounters {
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly durations: Readonly<Record<(typeof DURATIONS)[number], Duration>>;
  /** Executions by their rows. */
  readonly batches: ReadonlyMap<number, number>;
  readonly metrics: Readonly<Record<(typeof METRICS)[number], number>>;
  readonly failures: Readonly<Record<(typeof REASONS)[number], number>>;
}

interface StatisticsJson {
  readonly model_stats: readonly {
    readonly inference_count: number;
    readonly execution_count: number;
    readonly inference_stats: Readonly<Record<(typeof DURATIONS)[number], Duration>>;
    readonly batch_stats: readonly { readonly batch_size: number; readonly compute_infer: Duration }[];
  }[];
}

async function getText(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`GET ${url} answered ${response.status}: ${await response.text()}`);
  return response.text();
}

async function readCounters(ports: ServerPorts, model: string): Promise<ModelCounters> {
  const statistics = JSON.parse(
    await getText(`http://127.0.0.1:${ports.http}/v2/models/${model}/stats`),
  ) as StatisticsJson;
  const metrics = (await getText(`http://127.0.0.1:${ports.metrics}/metrics`)).split('\n');
  // A family that is not there counts as 0: those of the cache are only there with one.
  const metric = (name: string, label = ''): number => {
    const line = metrics.find((text) => text.startsWith(`${name}{model="${model}",${label}`));
    return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ')));
  };
  const { inference_count, execution_count, inference_stats, batch_stats } = statistics.model_stats[0]!;
  return {
    inferenceCount: inference_count,
    executionCount: execution_count,
    durations: inference_stats,
    batches: new Map(batch_stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count])),
    metrics: record(METRICS, (name) => metric(name)),
    failures: record(REASONS, (reason) => metric('nv_inference_request_failure', `reason="${reason}"`)),
  };
}

/** The counters when they no longer change: Triton counts some things after it has answered. */
export async function settledCounters(ports: ServerPorts, model: string): Promise<ModelCounters> {
  let last = await readCounters(ports, model);
  for (let i = 0; i < 50; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const next = await readCounters(ports, model);
    if (isDeepStrictEqual(next, last)) return next;
    last = next;
  }
  throw new Error(`the counters of model '${model}' did not come to rest within five seconds`);
}

/** What was counted between two readings; of a gauge, what it shows in the later one. */
export function countersSince(before: ModelCounters, after: ModelCounters): ModelCounters {
  const batches = [...after.batches].map(([rows, count]) => [rows, count - (before.batches.get(rows) ?? 0)] as const);
  const gauge = 'nv_inference_pending_request_count';
  return {
    inferenceCount: after.inferenceCount - before.inferenceCount,
    executionCount: after.executionCount - before.executionCount,
    durations: record(DURATIONS, (name) => ({
      count: after.durations[name].count - before.durations[name].count,
      ns: after.durations[name].ns - before.durations[name].ns,
    })),
    batches: new Map(batches.filter(([, count]) => count > 0)),
    metrics: record(METRICS, (name) => after.metrics[name] - (name === gauge ? 0 : before.metrics[name])),
    failures: record(REASONS, (reason) => after.failures[reason] - before.failures[reason]),
  };
}

function record<Name extends string, Value>(names: readonly Name[], valueOf: (name: Name) => Value) {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>;
}
