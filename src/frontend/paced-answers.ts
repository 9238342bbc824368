// The answers of one request as they are encoded: each may take its time, and they keep their order.

import { type PacedWork } from '../model/paced-work.js';
import { startPaced, type PacedEnd, type PacedRun } from '../model/paced-workers.js';

export class PacedAnswers {
  #run: PacedRun | undefined;
  #later: (() => void)[] = [];

  /** Whether an answer is being encoded, so that what comes now has to be {@link defer deferred}. */
  get busy(): boolean {
    return this.#run !== undefined;
  }

  /** Encodes an answer; `end` is called before this returns when encoding takes no time. */
  encode<T>(work: PacedWork<T>, end: PacedEnd<T>): void {
    const over = () => {
      this.#run = undefined;
      this.#flush();
    };
    this.#run = startPaced(work, {
      done(value) {
        try {
          end.done(value);
        } finally {
          over();
        }
      },
      failed(error) {
        try {
          end.failed(error);
        } finally {
          over();
        }
      },
    });
  }

  /** Does something when what is being encoded has been. Settles as `action` does. */
  defer<T>(action: () => T | Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#later.push(() => {
        try {
          resolve(action());
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  }

  /** Nobody wants the answers: what was deferred is done at once. */
  cancel(): void {
    this.#run?.cancel();
    this.#run = undefined;
    this.#flush();
  }

  #flush(): void {
    while (this.#run === undefined) {
      const next = this.#later.shift();
      if (next === undefined) return;
      next();
    }
  }
}
