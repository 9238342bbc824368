// For rules about scheduling: says what else follows when the executions or answers of a recorded outcome are to be
// others, so that a rule states its difference and nothing more.
import type { Arrival, SchedulerCase } from './cases.js';
import { durationsOf, executedOf, isRefused, metricsOf, type Durations, type Executed } from './scheduler-durations.js';
import type { SchedulerOutcome, SimulatedAnswer, SimulatedExecution } from './scheduler-simulator.js';

export interface Changes {
  /** All executions, as `a×1 b×2! 0-100 | c×1 100-200 on 1`; `!` stands behind what was cancelled by the end. */
  readonly executions?: string;
  /** Answers that do not follow from the executions. */
  readonly answers?: Readonly<Record<string, Partial<SimulatedAnswer>>>;
  readonly stream?: SchedulerOutcome['stream'];
  /** Those that do not follow from executions and answers. */
  readonly durations?: Partial<Durations>;
  readonly cacheHits?: number;
  readonly cacheMisses?: number;
}

/** The outcome after changes: answers, counters and pending requests that follow from them. */
export function follow(outcome: SchedulerOutcome, testCase: SchedulerCase, changes: Changes = {}): SchedulerOutcome {
  const executions = changes.executions === undefined ? outcome.executions : parseExecutions(changes.executions);
  const answers = answersOf(outcome, testCase, { ...changes, executions });
  const next = { ...outcome, executions, answers, stream: changes.stream ?? outcome.stream };
  const statistics = statisticsOf(next, testCase, changes);
  const told = Object.keys(statistics).length > 0;
  const isAnswered = ({ name, cancelled }: Executed) => !cancelled && succeededOf(next).has(name);
  return {
    ...next,
    probes: probesOf(next, testCase),
    statistics,
    durations: told ? { ...durationsOf(next, testCase, isAnswered), ...changes.durations } : undefined,
    metrics: told ? metricsOf(next, testCase, statistics) : undefined,
  };
}

function parseExecutions(text: string): readonly SimulatedExecution[] {
  return text.split(' | ').map((execution) => {
    const [, batch, start, end, instance] = /^(.+) (\d+)-(\d+)(?: on (\d+))?$/.exec(execution)!;
    return {
      batch: batch!,
      start: Number(start),
      end: Number(end),
      instance: instance === undefined ? undefined : Number(instance),
    };
  });
}

function answersOf(
  { answers }: SchedulerOutcome,
  { arrivals }: SchedulerCase,
  changes: { readonly executions: readonly SimulatedExecution[]; readonly answers?: Changes['answers'] },
): SchedulerOutcome['answers'] {
  const executed = executedOf(changes.executions);
  const derived = arrivals.flatMap(({ id, via, fails, rows }): [string, SimulatedAnswer][] => {
    const run = executed.find((request) => request.id === id);
    if (via === 'stream' || run === undefined || run.cancelled) return [];
    const answer = fails
      ? { outcome: 'INTERNAL', text: 'asked to fail', shape: undefined }
      : { outcome: 'ok', text: undefined, shape: sameRows(answers[id]?.shape, rows) };
    return [[id, { ...answer, at: run.end }]];
  });
  const merged = { ...answers, ...Object.fromEntries(derived) };
  for (const [id, change] of Object.entries(changes.answers ?? {})) merged[id] = { ...merged[id]!, ...change };
  return merged;
}

function sameRows(shape: readonly number[] | undefined, rows: number): readonly number[] | undefined {
  return shape === undefined ? undefined : [rows, ...shape.slice(1)];
}

function probesOf({ executions, answers, probes }: SchedulerOutcome, testCase: SchedulerCase): readonly string[] {
  const executed = executedOf(executions);
  const moments = (testCase.events ?? []).filter(({ pending }) => pending).map(({ at_ms: at }) => at);
  if (moments.length === 0) return probes;
  const waitsAt = (at: number, { id, at_ms: arrived }: Arrival): boolean => {
    const run = executed.find((request) => request.id === id);
    const answer = answers[id];
    return arrived <= at && !(run !== undefined && run.start <= at) && !(answer !== undefined && answer.at <= at);
  };
  return moments.map((at) => `pending ${testCase.arrivals.filter((arrival) => waitsAt(at, arrival)).length}`);
}

/** Names of the requests that were answered. */
function succeededOf({ answers, stream }: Pick<SchedulerOutcome, 'answers' | 'stream'>): ReadonlySet<string> {
  return new Set([
    ...Object.keys(answers).filter((id) => answers[id]!.outcome === 'ok'),
    ...stream.filter(({ error }) => error === undefined).map(({ id }) => id),
  ]);
}

function statisticsOf(
  { executions, answers, stream, statistics }: SchedulerOutcome,
  { arrivals, config }: SchedulerCase,
  { cacheHits, cacheMisses }: Changes,
): SchedulerOutcome['statistics'] {
  if (Object.keys(statistics).length === 0) return statistics;
  const succeeded = succeededOf({ answers, stream });
  const refused =
    Object.values(answers).filter(isRefused).length +
    stream.filter(({ error }) => error !== undefined && isRefused({ outcome: '', text: error })).length;
  const rowsRun = (rows: number) => (config.max_batch_size === 0 ? 1 : rows);
  const hits = cacheHits ?? statistics['cache_hit_count'] ?? 0;
  const batches: Record<string, number> = {};
  for (const execution of executions) {
    const size = executedOf([execution]).reduce((sum, { rows }) => sum + rowsRun(rows), 0);
    batches[`batch_size_${size}`] = (batches[`batch_size_${size}`] ?? 0) + 1;
  }
  const counted = executedOf(executions).filter(({ name, cancelled }) => succeeded.has(name) && !cancelled);
  return {
    inference_count: counted.reduce((sum, { rows }) => sum + rowsRun(rows), 0),
    execution_count: executions.length,
    success_count: succeeded.size,
    fail_count: arrivals.length - refused - succeeded.size,
    queue_count: succeeded.size,
    compute_input_count: succeeded.size - hits,
    compute_infer_count: succeeded.size - hits,
    compute_output_count: succeeded.size - hits,
    cache_hit_count: hits,
    cache_miss_count: cacheMisses ?? statistics['cache_miss_count'] ?? 0,
    ...batches,
  };
}
