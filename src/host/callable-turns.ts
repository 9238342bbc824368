// Limits how many batches a callable has at a time to the number that its model says, for all servers together. A server
// that dies leaves executions behind, and its replacement does not know of them. A load that replaces another does the
// same.

import type { Callable } from '../model/callable.js';
import type { SequenceStateSource } from '../model/sequence-state-source.js';
import type { HostExecution } from './host-execution.js';

/** A callable, and the turns in which servers may use it. */
export interface HostedCallable {
  readonly callable: Callable;
  readonly turns: CallableTurns;
  /** Makes an object for each sequence. */
  readonly state?: SequenceStateSource | undefined;
}

/** `concurrency` is the number of batches that the callable may have at a time. */
export function hostedCallable(callable: Callable, concurrency: number, state?: SequenceStateSource): HostedCallable {
  return { callable, turns: new CallableTurns(concurrency), state };
}

export class CallableTurns {
  readonly #concurrency: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Whether the callable works on a batch. */
  get isWorking(): boolean {
    return this.#running > 0;
  }

  /** Calls `execute` when there is room for a batch, usually at once. `execute` must call `ended` once, when the batch has ended. */
  begin(execute: (ended: () => void) => HostExecution): HostExecution {
    if (this.#running < this.#concurrency) {
      this.#running++;
      return execute(this.#ended);
    }
    const waiting = new WaitingExecution();
    this.#waiting.push(() => waiting.begin(execute(this.#ended)));
    return waiting;
  }

  readonly #ended = (): void => {
    const begin = this.#waiting.shift();
    if (begin === undefined) this.#running--;
    else begin();
  };
}

/** An execution that may have to wait. A request that is cancelled before it begins is cancelled when it begins. */
export class WaitingExecution implements HostExecution {
  #begun: HostExecution | undefined;
  readonly #gone: number[] = [];
  #allGone = false;

  begin(execution: HostExecution): void {
    this.#begun = execution;
    for (const index of this.#gone) execution.cancel(index);
    if (this.#allGone) execution.cancelAll();
  }

  cancel(index: number): void {
    if (this.#begun === undefined) this.#gone.push(index);
    else this.#begun.cancel(index);
  }

  cancelAll(): void {
    this.#allGone = true;
    this.#begun?.cancelAll();
  }
}
