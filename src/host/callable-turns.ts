// Limits how many batches a callable has at a time to the number that its model says, for all servers together. A server
// that dies leaves executions behind, and its replacement does not know of them. A load that replaces another does the
// same.

import type { Callable } from '../model/callable.js';
import type { HostedRequest } from '../model/inference-request.js';
import type { SequenceStateSource } from '../model/sequence-state-source.js';
import type { PacedWork } from '../pacing/paced-work.js';
import { startPaced } from '../pacing/paced-workers.js';
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

export interface TurnedBatch {
  /** Begins the execution. The batch has its turn until `end` is called, once. */
  readonly execute: (requests: readonly HostedRequest[]) => HostExecution;
  /** Called when the batch cannot be unpacked: it has no turn, and there is nothing to execute. */
  readonly failed: (error: unknown) => void;
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

  /**
   * Does the unpacking, takes a turn and executes the batch, all at once as a rule. It takes some turns of the event loop
   * to make many elements or to join many rows, and a batch may have to wait for the end of another.
   */
  begin(unpacking: PacedWork<readonly HostedRequest[]>, { execute, failed }: TurnedBatch): HostExecution {
    let execution: HostExecution | undefined;
    let waiting: WaitingExecution | undefined;
    startPaced(unpacking, {
      done: (requests) => {
        if (this.#running < this.#concurrency) {
          this.#running++;
          execution = execute(requests);
          waiting?.begin(execution);
        } else {
          const later = (waiting ??= new WaitingExecution());
          this.#waiting.push(() => later.begin(execute(requests)));
        }
      },
      failed,
    });
    return execution ?? (waiting ??= new WaitingExecution());
  }

  /** Ends the turn of a batch. */
  end(): void {
    const begin = this.#waiting.shift();
    if (begin === undefined) this.#running--;
    else begin();
  }
}

/** An execution that may have to wait. A request that is cancelled before it begins is cancelled when it begins. */
class WaitingExecution implements HostExecution {
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
