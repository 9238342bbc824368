// Work between the core and the socket. The core does not know of it, so that a server that stops has to wait for it here.

import type { PacedWork } from '../../model/paced-work.js';

export class PendingWork {
  #count = 0;
  #idle: (() => void)[] = [];

  /** Returns what to call when the work is done. */
  begin(): () => void {
    this.#count++;
    return () => {
      if (--this.#count > 0) return;
      const waiting = this.#idle;
      this.#idle = [];
      for (const resolve of waiting) resolve();
    };
  }

  /** The same work, which is pending until it has ended or is cancelled. */
  *during<T>(work: PacedWork<T>): PacedWork<T> {
    const done = this.begin();
    try {
      return yield* work;
    } finally {
      done();
    }
  }

  /** Resolves when there is none. */
  async done(): Promise<void> {
    // What ends may have begun something else.
    while (this.#count > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }
}
