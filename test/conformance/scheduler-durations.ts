// What durations and metrics come to when nothing takes time but the model: they follow from the executions and answers.
import type { Arrival, SchedulerCase } from './cases.js';
import type { SchedulerOutcome, SimulatedAnswer, SimulatedExecution } from './scheduler-simulator.js';

export interface Executed {
  readonly id: string;
  /** The id, or `id#2` of the second request with it. */
  readonly name: string;
  readonly rows: number;
  readonly cancelled: boolean;
  readonly start: number;
  readonly end: number;
}

/** The requests of all executions. */
export function executedOf(executions: readonly SimulatedExecution[]): readonly Executed[] {
  const seen = new Map<string, number>();
  return executions.flatMap(({ batch, start, end }) =>
    batch.split(' ').map((request) => {
      const [, id = '', rows, mark] = /^(.+)×(\d+)(!?)$/.exec(request)!;
      const before = seen.get(id) ?? 0;
      seen.set(id, before + 1);
      return { id, name: nameOf(id, before), rows: Number(rows), cancelled: mark === '!', start, end };
    }),
  );
}

/** Arrivals by their names: `id`, `id#2`, … */
export function arrivalsByName(arrivals: readonly Arrival[]): ReadonlyMap<string, Arrival> {
  const named = new Map<string, Arrival>();
  for (const arrival of arrivals) {
    const before = arrivals.filter(({ id }, index) => id === arrival.id && index < arrivals.indexOf(arrival)).length;
    named.set(nameOf(arrival.id, before), arrival);
  }
  return named;
}

/** The name of a request whose id so many had before. */
export function nameOf(id: string, before: number): string {
  return before === 0 ? id : `${id}#${before + 1}`;
}

/** Milliseconds of the statistics extension. */
export type Durations = Readonly<Record<'success' | 'fail' | 'queue' | 'compute_infer', number>>;

type Answered = Pick<SchedulerOutcome, 'executions' | 'answers' | 'stream'>;

/**
 * `isAnswered` says which of the executed requests count as success. All counts stop when the execution ends, though an
 * answer may be held back longer to keep its order. Whoever is answered without an execution has waited until then.
 */
export function durationsOf(
  outcome: Answered,
  testCase: SchedulerCase,
  isAnswered: (executed: Executed) => boolean,
): Durations {
  const named = arrivalsByName(testCase.arrivals);
  const since = (name: string, at: number) => at - named.get(name)!.at_ms;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const executed = executedOf(outcome.executions);
  const answered = executed.filter(isAnswered);
  const hits = Object.entries(outcome.answers)
    .filter(([name, answer]) => answer.outcome === 'ok' && !executed.some((request) => request.name === name))
    .map(([name, { at }]) => since(name, at));
  return {
    success: sum([...answered.map(({ name, end }) => since(name, end)), ...hits]),
    fail: sum(failuresOf(outcome, testCase).map(({ name, at }) => since(name, at))),
    queue: sum([...answered.map(({ name, start }) => since(name, start)), ...hits]),
    compute_infer: sum(answered.map(({ start, end }) => end - start)),
  };
}

const REFUSALS = /Exceeds maximum queue size|Server is stopping/;

/** Refused at the door: in no statistic. */
export function isRefused({ outcome, text }: Pick<SimulatedAnswer, 'outcome' | 'text'>): boolean {
  return outcome === 'INVALID_ARG' || outcome === 'NOT_FOUND' || REFUSALS.test(text ?? '');
}

export interface Failure {
  readonly name: string;
  readonly at: number;
  /** The label of nv_inference_request_failure. */
  readonly reason: 'REJECTED' | 'CANCELED' | 'BACKEND' | 'OTHER';
}

/** Requests that were accepted and failed: when they were executed, at the end of that. */
export function failuresOf(outcome: Answered, { arrivals, events = [] }: SchedulerCase): readonly Failure[] {
  const { answers, stream } = outcome;
  const executed = executedOf(outcome.executions);
  const endOf = (name: string, at: number) => executed.find((request) => request.name === name)?.end ?? at;
  // Nothing comes on a stream that its client has given up.
  const given = events.flatMap(({ cancel_stream: cancelled, at_ms: at }) =>
    arrivals
      .filter(({ via, id, at_ms: arrived }) => cancelled && via === 'stream' && arrived <= at && !isOn(stream, id))
      .map(({ id }): Failure => ({ name: id, at, reason: 'CANCELED' })),
  );
  return [
    ...Object.entries(answers)
      .filter(([, answer]) => answer.outcome !== 'ok' && !isRefused(answer))
      .map(([name, { at, outcome: code, text }]): Failure => {
        const reason = reasonOf(code, text);
        return { name, at: reason === 'BACKEND' ? endOf(name, at) : at, reason };
      }),
    ...stream
      .filter(({ error }) => error !== undefined && !REFUSALS.test(error))
      .map(({ id, at, error }): Failure => ({ name: id, at: endOf(id, at), reason: reasonOf('', error) })),
    ...given,
  ];
}

function isOn(stream: SchedulerOutcome['stream'], id: string): boolean {
  return stream.some((message) => message.id === id);
}

function reasonOf(outcome: string, text: string | undefined): Failure['reason'] {
  if (outcome === 'cancelled') return 'CANCELED';
  if (text === 'Request timeout expired') return 'REJECTED';
  return text === 'asked to fail' ? 'BACKEND' : 'OTHER';
}

/** Metrics by their recorded names; those that are 0 are left out. */
export type Metrics = Readonly<Record<string, number>>;

/** The metrics that go with these statistics. */
export function metricsOf(outcome: Answered, testCase: SchedulerCase, statistics: Metrics): Metrics {
  const reasons = failuresOf(outcome, testCase).map(({ reason }) => `nv_inference_request_failure{reason=${reason}}`);
  return {
    nv_inference_request_success: statistics['success_count'] ?? 0,
    nv_inference_count: statistics['inference_count'] ?? 0,
    nv_inference_exec_count: statistics['execution_count'] ?? 0,
    nv_cache_num_hits_per_model: statistics['cache_hit_count'] ?? 0,
    nv_cache_num_misses_per_model: statistics['cache_miss_count'] ?? 0,
    ...Object.fromEntries(reasons.map((name) => [name, reasons.filter((other) => other === name).length])),
  };
}
