// How long the executions of a model may take: an execution is aborted when its time is over, and given up when it has not
// ended soon after.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { ServedTimer } from '../../pacing/served-timer.js';

/** setTimeout's longest delay. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** How long a callable may take to settle after it was told that its time is over, in milliseconds. */
const SETTLING_MS = 1000;

const KEEPS_ALIVE = { keepsAlive: true } as const;

export interface ExecutionLimitListeners<Run> {
  /** Its time is over: its requests are to fail with this error, and its callable is to be told. */
  readonly onExpired: (run: Run, error: TritonError) => void;
  /** It still has not ended, and will hardly. */
  readonly onStuck: (run: Run, reason: string) => void;
}

export class ExecutionLimit<Run> {
  readonly #model: string;
  readonly #limit: number;
  readonly #listeners: ExecutionLimitListeners<Run>;
  readonly #timers = new Map<Run, ServedTimer>();

  constructor(
    { name, executionTimeoutMicroseconds = 0 }: CompleteModelConfig,
    listeners: ExecutionLimitListeners<Run>,
  ) {
    this.#model = name;
    this.#limit = executionTimeoutMicroseconds;
    this.#listeners = listeners;
  }

  begin(run: Run): void {
    this.#timers.set(
      run,
      new ServedTimer(() => this.#expire(run), Math.min(this.#limit / 1000, LONGEST_TIMER), KEEPS_ALIVE),
    );
  }

  end(run: Run): void {
    this.#timers.get(run)?.clear();
    this.#timers.delete(run);
  }

  /** No listener is called any more. */
  stop(): void {
    for (const timer of this.#timers.values()) timer.clear();
    this.#timers.clear();
  }

  #expire(run: Run): void {
    const limit = `its executionTimeoutMicroseconds of ${this.#limit}`;
    const stuck = () => {
      this.#timers.delete(run);
      this.#listeners.onStuck(run, `a batch was still running 1 s after ${limit}`);
    };
    this.#timers.set(run, new ServedTimer(stuck, SETTLING_MS, KEEPS_ALIVE));
    const message = `model '${this.#model}' did not answer within ${limit}`;
    this.#listeners.onExpired(run, new TritonError('UNAVAILABLE', message));
  }
}
