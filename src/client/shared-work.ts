// Work that several calls wait for, under a call of its own. When the last of them leaves, the work is aborted: it may never come to
// an end, and later calls begin it anew.

import type { Call } from './call.js';

interface Running<T> {
  readonly outcome: Promise<T>;
  /** The call of the work. */
  call: Call | undefined;
  /** How many calls wait. */
  waiting: number;
}

export class SharedWork<T> {
  readonly #begin: (onCall: (call: Call) => void) => Promise<T>;
  #running: Running<T> | undefined;

  /** `begin` tells the work's call at once. */
  constructor(begin: (onCall: (call: Call) => void) => Promise<T>) {
    this.#begin = begin;
  }

  /** Settles as the work does, which begins if it is not under way. Rejects when the call is aborted. */
  async outcome(call: Call): Promise<T> {
    const running = (this.#running ??= this.#start());
    running.waiting++;
    try {
      return await call.race(running.outcome);
    } finally {
      if (--running.waiting === 0) this.#end(running, call);
    }
  }

  #start(): Running<T> {
    let own: Call | undefined;
    const outcome = this.#begin((call) => (own = call));
    return { outcome, call: own, waiting: 0 };
  }

  #end(running: Running<T>, last: Call): void {
    if (this.#running === running) this.#running = undefined;
    if (last.error !== undefined) running.call?.abort(last.error, last.expired);
  }
}
