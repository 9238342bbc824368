// The two tables of the comparison: what the client saw, and what the server counted beside it.

import { percentile } from '../statistics.js';
import { formatFigure } from '../table.js';
import { MAX_ROWS } from './batching-workloads.js';
import type { BatchingWorkload } from './batching-workloads.js';
import type { Fate, Outcome, Played } from './play-arrivals.js';
import type { ModelCounters } from './server-counters.js';

/** The two servers, in the order of their rows. */
export type ServerName = 'Triton' | 'TSTriton';

/** A column's title, and `:` where it is set to the right. */
type Column = readonly [title: string, align?: ':'];

export const SEEN_HEAD: readonly Column[] = [
  [''],
  ['server'],
  ['batches', ':'],
  ['rows a batch', ':'],
  ['p50 ms', ':'],
  ['p99 ms', ':'],
  ['overtook', ':'],
  ['among them: p50, p99 ms'],
  ['without an answer'],
];

export const COUNTED_HEAD: readonly Column[] = [
  [''],
  ['server'],
  ['`success`', ':'],
  ['`fail`'],
  ['`inference_count`', ':'],
  ['`execution_count`', ':'],
  ['batches of 1, 2 … 8 rows'],
  ['`cache_hit`, `cache_miss`'],
  ['mean `queue`, `compute_infer` ms'],
  ['not as it should be'],
];

export function head(columns: readonly Column[]): readonly string[] {
  return [row(columns.map(([title]) => title)), row(columns.map(([, align = '']) => `---${align}`))];
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

// Said once for the two rows that belong together.
function title(workload: BatchingWorkload, server: ServerName): string {
  return server === 'Triton' ? workload.about : '';
}

function latency(outcomes: readonly Outcome[], share: number): string {
  const sorted = outcomes.map(({ ms }) => ms).sort((a, b) => a - b);
  return formatFigure(percentile(sorted, share));
}

/** Rows of the client's answers by execution. */
function rowsByExecution(outcomes: readonly Outcome[]): ReadonlyMap<bigint, number> {
  const rows = new Map<bigint, number>();
  for (const { execution, arrival } of outcomes) {
    if (execution !== undefined) rows.set(execution, (rows.get(execution) ?? 0) + arrival.rows);
  }
  return rows;
}

/** Answers that came while one to an earlier request, of another batch, was still awaited. */
export function overtakers(answers: readonly Outcome[]): number {
  return answers.filter(({ place, execution }, i) =>
    answers.slice(0, i).some((earlier) => earlier.place > place && earlier.execution !== execution),
  ).length;
}

const FATES: Readonly<Record<Exclude<Fate, 'answered'>, string>> = {
  full: 'queue full',
  timeout: 'timed out',
  refused: 'refused by the model',
  cancelled: 'cancelled',
};

function unanswered(outcomes: readonly Outcome[]): string {
  return Object.entries(FATES)
    .map(([fate, text]) => [text, outcomes.filter((outcome) => outcome.fate === fate)] as const)
    .filter(([, some]) => some.length > 0)
    .map(([text, some]) => `${some.length} ${text}, after ${latency(some, 0.5)} to ${latency(some, 1)} ms`)
    .join('; ');
}

/** Requests that are of interest by themselves. */
function amongThem({ name }: BatchingWorkload, answers: readonly Outcome[]): string {
  const some: Readonly<Record<string, readonly [string, (outcome: Outcome) => boolean]>> = {
    priority: ['urgent', ({ arrival }) => arrival.priority === 1],
    cache: ['answered before', ({ answeredBefore }) => answeredBefore],
  };
  const [text, isOne] = some[name] ?? [];
  if (isOne === undefined) return '';
  const chosen = answers.filter(isOne);
  return `${chosen.length} ${text}: ${latency(chosen, 0.5)}, ${latency(chosen, 0.99)}`;
}

export function seenRow(workload: BatchingWorkload, server: ServerName, { outcomes }: Played): string {
  const answers = outcomes.filter(({ fate }) => fate === 'answered');
  const executed = rowsByExecution(outcomes);
  const rows = answers.reduce((sum, { arrival }) => sum + arrival.rows, 0);
  return row([
    title(workload, server),
    server,
    String(executed.size),
    formatFigure(rows / executed.size),
    latency(answers, 0.5),
    latency(answers, 0.99),
    String(overtakers(answers)),
    amongThem(workload, answers),
    unanswered(outcomes),
  ]);
}

function batchesOf(counters: Pick<ModelCounters, 'batches'>): string {
  return Array.from({ length: MAX_ROWS }, (_, i) => counters.batches.get(i + 1) ?? 0).join(' ');
}

function meanMs({ count, ns }: { readonly count: number; readonly ns: number }): string {
  return count === 0 ? '-' : formatFigure(ns / count / 1e6);
}

export function countedRow(workload: BatchingWorkload, server: ServerName, played: Played): string {
  const { durations, failures, inferenceCount, executionCount, ...counters } = played.counters;
  const reasons = Object.entries(failures).filter(([, count]) => count > 0);
  const fail = [durations.fail.count, ...reasons.map(([reason, count]) => `${count} ${reason}`)].join(', ');
  const hasCache = durations.cache_hit.count + durations.cache_miss.count > 0;
  return row([
    title(workload, server),
    server,
    String(durations.success.count),
    fail,
    String(inferenceCount),
    String(executionCount),
    batchesOf(counters),
    hasCache ? `${durations.cache_hit.count}, ${durations.cache_miss.count}` : '',
    `${meanMs(durations.queue)}, ${meanMs(durations.compute_infer)}`,
    disagreements(workload, played).join('; '),
  ]);
}

/** Every counter that is not what the client saw, or not what another counter says. */
export function disagreements(
  { config, arrivals }: BatchingWorkload,
  { outcomes, counters }: Played,
): readonly string[] {
  const { durations, metrics, failures, batches } = counters;
  const countOf = (fate: Fate): number => outcomes.filter((outcome) => outcome.fate === fate).length;
  const answers = outcomes.filter(({ fate }) => fate === 'answered');
  const hits = durations.cache_hit.count;
  const executed = rowsByExecution(outcomes);
  const computed = durations.success.count - hits;

  const checks: [counter: string, counted: number | string, expected: number | string][] = [
    ['success', durations.success.count, answers.length],
    ['fail', durations.fail.count, countOf('timeout') + countOf('refused') + countOf('cancelled')],
    ['REJECTED', failures.REJECTED, countOf('timeout')],
    ['BACKEND', failures.BACKEND, countOf('refused')],
    ['CANCELED', failures.CANCELED, countOf('cancelled')],
    ['OTHER', failures.OTHER, 0],
    ['queue', durations.queue.count, durations.success.count],
    ['compute_input', durations.compute_input.count, computed],
    ['compute_infer', durations.compute_infer.count, computed],
    ['compute_output', durations.compute_output.count, computed],
    ['cache_hit + cache_miss', hits + durations.cache_miss.count, config.responseCache ? durations.success.count : 0],
    ['all of batch_stats', [...batches.values()].reduce((sum, count) => sum + count, 0), counters.executionCount],
    ['nv_inference_request_success', metrics.nv_inference_request_success, durations.success.count],
    ['nv_inference_count', metrics.nv_inference_count, counters.inferenceCount],
    ['nv_inference_exec_count', metrics.nv_inference_exec_count, counters.executionCount],
    ['nv_cache_num_hits_per_model', metrics.nv_cache_num_hits_per_model, hits],
    ['nv_cache_num_misses_per_model', metrics.nv_cache_num_misses_per_model, durations.cache_miss.count],
    ['nv_inference_pending_request_count', metrics.nv_inference_pending_request_count, 0],
  ];
  // Who cancels does not learn whether there was an execution.
  if (arrivals.every(({ cancelAfterMs }) => cancelAfterMs === undefined)) {
    const answeredRows = answers.reduce((sum, { arrival }) => sum + arrival.rows, 0);
    checks.push(['inference_count', counters.inferenceCount, answeredRows - hits]);
    checks.push(['execution_count', counters.executionCount, executed.size]);
    // An answer from the cache names the execution that it once came from.
    if (!config.responseCache) {
      const seen = new Map<number, number>();
      for (const rows of executed.values()) seen.set(rows, (seen.get(rows) ?? 0) + 1);
      checks.push(['batch_stats', batchesOf(counters), batchesOf({ batches: seen })]);
    }
  }
  return checks
    .filter(([, counted, expected]) => counted !== expected)
    .map(([counter, counted, expected]) => `${counter} ${counted} instead of ${expected}`);
}
