// How many calls of a client are under way at once, and how many wait for their turn: in order, each until its deadline.

import { TritonQueueFullError } from './client-errors.js';
import type { Call } from './call.js';

export interface ConcurrencyLimits {
  readonly maxConcurrency: number;
  readonly maxQueueSize: number;
}

export class TurnQueue {
  readonly #limits: ConcurrencyLimits;
  readonly #running = new Set<Call>();
  /** In order, with what begins them. */
  readonly #waiting = new Map<Call, () => void>();

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  /** Undefined when the call may begin at once; else settles when it may. Throws when too many wait already. */
  take(call: Call): Promise<void> | undefined {
    const { maxConcurrency, maxQueueSize } = this.#limits;
    if (this.#running.size < maxConcurrency) {
      this.#running.add(call);
      return undefined;
    }
    if (this.#waiting.size >= maxQueueSize) {
      throw new TritonQueueFullError(
        `the client's queue is full: ${maxConcurrency} calls are under way (maxConcurrency) and ${maxQueueSize} wait for their turn (maxQueueSize)`,
      );
    }
    call.reason = `it waited for its turn: ${maxConcurrency} calls are under way (maxConcurrency)`;
    return call.race(new Promise<void>((resolve) => this.#waiting.set(call, resolve))).then(() => {
      call.reason = undefined;
    });
  }

  /** The call has ended, whether it had its turn or not. */
  end(call: Call): void {
    if (!this.#running.delete(call)) {
      this.#waiting.delete(call);
      return;
    }
    for (const [next, begin] of this.#waiting) {
      this.#waiting.delete(next);
      this.#running.add(next);
      begin();
      return;
    }
  }
}
