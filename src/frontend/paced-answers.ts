// Encodes the answers of one request. Each may take several turns, and they keep their order.

import { type PacedWork } from '../pacing/paced-work.js';
import { startPaced, type PacedEnd, type PacedRun } from '../pacing/paced-workers.js';
import { Ring } from '../ring.js';

export class PacedAnswers {
  #run: PacedRun | undefined;
  readonly #later = new Ring<() => void>();

  /** Whether an answer is being encoded, so that the next answer has to be {@link defer deferred}. */
  get busy(): boolean {
    return this.#run !== undefined;
  }

  /** Encodes an answer. `end` is called before this returns if the encoding needs no pause. */
  encode<T>(work: PacedWork<T>, end: PacedEnd<T>): void {
    let isPaused = false;
    const over = () => {
      // What ends at once was either alone or one of the deferred, of which the next follows anyway.
      if (!isPaused) return;
      this.#run = undefined;
      this.#flush();
    };
    const run = startPaced(work, {
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
    if (run === undefined) return;
    isPaused = true;
    this.#run = run;
  }

  /** Calls `action` after the current encoding, and settles as `action` does. */
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

  /** Nobody wants the answers: deferred actions run at once. */
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
