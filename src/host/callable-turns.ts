// Sees to it that a callable has no more batches at a time than its model says, whoever asks for them: a server that has
// died leaves executions behind of which the one in its place knows nothing, and so does a load that replaces another.

import type { Callable } from '../model/callable.js';
import type { HostExecution } from './callable-host.js';

/** A callable, and who may have it. */
export interface HostedCallable {
  readonly callable: Callable;
  readonly turns: CallableTurns;
}

/** `concurrency`: how many batches it may have at a time. */
export function hostedCallable(callable: Callable, concurrency: number): HostedCallable {
  return { callable, turns: new CallableTurns(concurrency) };
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

  /** Calls `execute` when there is room for a batch, usually at once; `ended` is to be called once, when the batch has ended. */
  begin(execute: (ended: () => void) => HostExecution): HostExecution {
    const ended = () => this.#next();
    if (this.#running < this.#concurrency) {
      this.#running++;
      return execute(ended);
    }
    const waiting = new WaitingExecution();
    this.#waiting.push(() => waiting.begin(execute(ended)));
    return waiting;
  }

  #next(): void {
    const begin = this.#waiting.shift();
    if (begin === undefined) this.#running--;
    else begin();
  }
}

/** An execution that may have to wait; who is cancelled before it begins is cancelled when it does. */
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
