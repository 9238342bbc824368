// The moments of a recorded scenario as they would be if nothing took time but the model. The recordings have real time in
// them: they are rounded to 10 ms, and what happens is late by some milliseconds, so that what follows from it is late
// too. But a moment has a cause (an arrival, the end of an execution, a delay or a timeout that is over, an event), and
// causes have exact moments: a recorded moment is that of the nearest cause that it can have. One that is near none stays
// as it was recorded.
import type { Arrival, RecordedOutcome, SchedulerCase } from './cases.js';
import { arrivalsByName, nameOf } from './scheduler-durations.js';

/** How far a moment may be from what caused it: rounding, and the recorded machine's other work. */
const NEAR_MS = 35;

/** A cause as it was recorded, and when it would have been. */
interface Cause {
  readonly recorded: number;
  readonly exact: number;
}

export interface ExactExecution {
  readonly start: number;
  readonly end: number;
}

export class RecordedMoments {
  readonly #case: SchedulerCase;
  readonly #arrivals: ReadonlyMap<string, Arrival>;
  readonly #events: readonly Cause[];
  /** Ends of executions. */
  readonly #ends: Cause[] = [];
  readonly #endOf = new Map<string, Cause>();
  /** In the order of the recording. */
  readonly executions: readonly ExactExecution[];

  constructor(testCase: SchedulerCase, { executions = [] }: RecordedOutcome) {
    this.#case = testCase;
    this.#arrivals = arrivalsByName(testCase.arrivals);
    this.#events = (testCase.events ?? []).map(({ at_ms: at }) => exactly(at));
    // A batch that is delayed goes when a request comes that it cannot take.
    const delayed = testCase.config.dynamic_batching?.max_queue_delay_microseconds !== undefined;
    const closing = delayed ? testCase.arrivals.map(({ at_ms: at }) => exactly(at)) : [];
    const names = new Map(namesIn(executions));
    const exact = new Map<(typeof executions)[number], ExactExecution>();
    for (const execution of [...executions].sort((a, b) => a.start_ms - b.start_ms)) {
      const batch = names.get(execution)!;
      const own = batch.flatMap((name) => this.#causesOf(name));
      const start = nearest(execution.start_ms, [...own, ...closing, ...this.#ends, ...this.#events]);
      const end = start + Math.max(...batch.map((name) => this.#arrivals.get(name)!.run_ms));
      const cause = { recorded: execution.end_ms, exact: end };
      this.#ends.push(cause);
      for (const name of batch) this.#endOf.set(name, cause);
      exact.set(execution, { start, end });
    }
    this.executions = executions.map((execution) => exact.get(execution)!);
  }

  /** The exact moment of an answer to a request: the end of its execution, or of the one that it had to wait for. */
  answer(name: string, recorded: number): number {
    const end = this.#endOf.get(name);
    if (end !== undefined && Math.abs(end.recorded - recorded) <= NEAR_MS) return end.exact;
    return nearest(recorded, [...this.#causesOf(name), ...this.#ends, ...this.#events]);
  }

  /** What a request's own times can cause: it comes, has been delayed long enough, or has waited too long. */
  #causesOf(name: string): readonly Cause[] {
    const arrival = this.#arrivals.get(name)!;
    const batcher = this.#case.config.dynamic_batching ?? {};
    const delay = (batcher.max_queue_delay_microseconds ?? 0) / 1000;
    const { at_ms: at } = arrival;
    return [at, at + delay, ...timeoutsOf(arrival, this.#case)].map(exactly);
  }
}

function exactly(at: number): Cause {
  return { recorded: at, exact: at };
}

function nearest(recorded: number, causes: readonly Cause[]): number {
  const distance = (cause: Cause) => Math.abs(cause.recorded - recorded);
  const [first] = [...causes].sort((a, b) => distance(a) - distance(b));
  return first !== undefined && distance(first) <= NEAR_MS ? first.exact : recorded;
}

type Executions = NonNullable<RecordedOutcome['executions']>;

/** The requests of each execution by their names. */
function namesIn(executions: Executions): readonly (readonly [Executions[number], readonly string[]])[] {
  const seen = new Map<string, number>();
  return executions.map((execution) => [
    execution,
    execution.batch.map(([id]) => {
      const before = seen.get(id) ?? 0;
      seen.set(id, before + 1);
      return nameOf(id, before);
    }),
  ]);
}

/** When a request's time is over, by the policies that could be its own. */
function timeoutsOf({ at_ms: at, timeout_us: own = 0 }: Arrival, { config }: SchedulerCase): readonly number[] {
  const batcher = config.dynamic_batching ?? {};
  const policies = [batcher.default_queue_policy, ...Object.values(batcher.priority_queue_policy ?? {})];
  const standard = policies.map((policy) => policy?.default_timeout_microseconds ?? 0);
  return [own, ...standard].filter((timeout) => timeout > 0).map((timeout) => at + timeout / 1000);
}
