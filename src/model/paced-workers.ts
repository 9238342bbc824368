// Runs paced work so that others have their turn: one slice of it in a turn of the event loop, whoever's it is.

import type { PacedWork } from './paced-work.js';

/** Where paced work ends: in one of these, once, unless it is cancelled. */
export interface PacedEnd<T> {
  done(value: T): void;
  failed(error: unknown): void;
}

/** Work that goes on. */
export interface PacedRun {
  /** Nobody wants the result any more: its `finally` blocks run, and nothing else of it. */
  cancel(): void;
}

/** What paced work needs of a thread. */
export interface PacedThread {
  /** Milliseconds, on a clock that only goes forward. */
  now(): number;
  /** Calls back when what waits to be served has been served. */
  later(callback: () => void): void;
}

/** How long paced work may hold the thread until others have their turn, in milliseconds. */
const SLICE_MS = 4;

/** Shares a thread between pieces of paced work: one slice in a turn of the event loop, whoever's it is, in turn. */
export class PacedWorkers {
  readonly #thread: PacedThread;
  readonly #waiting: Run[] = [];
  #scheduled = false;

  constructor(thread: PacedThread) {
    this.#thread = thread;
  }

  /**
   * Does the work up to its first pause now, and the rest in slices. Undefined when it has ended, which it has told
   * before this returns.
   */
  start<T>(work: PacedWork<T>, end: PacedEnd<T>): PacedRun | undefined {
    // Most work ends here, and needs nobody to remember it.
    let step;
    try {
      step = work.next();
    } catch (error) {
      end.failed(error);
      return undefined;
    }
    if (step.done === true) {
      end.done(step.value);
      return undefined;
    }
    const run = new Run(work as PacedWork<unknown>, end as PacedEnd<unknown>);
    this.#waiting.push(run);
    this.#schedule();
    return run;
  }

  /** Started and neither ended nor cancelled. */
  get waiting(): number {
    return this.#waiting.reduce((count, run) => count + (run.ended ? 0 : 1), 0);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#thread.later(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    let run = this.#waiting.shift();
    while (run?.ended === true) run = this.#waiting.shift();
    if (run === undefined) return;
    // Before it works: whatever its end throws, the others go on.
    if (this.#waiting.length > 0) this.#schedule();
    const until = this.#thread.now() + SLICE_MS;
    do if (run.step()) return;
    while (this.#thread.now() < until);
    this.#waiting.push(run);
    this.#schedule();
  }
}

class Run implements PacedRun {
  readonly #work: PacedWork<unknown>;
  readonly #end: PacedEnd<unknown>;
  ended = false;

  constructor(work: PacedWork<unknown>, end: PacedEnd<unknown>) {
    this.#work = work;
    this.#end = end;
  }

  /** Goes on to the next pause. True: it has ended. */
  step(): boolean {
    let step;
    try {
      step = this.#work.next();
    } catch (error) {
      this.ended = true;
      this.#end.failed(error);
      return true;
    }
    if (step.done !== true) return false;
    this.ended = true;
    this.#end.done(step.value);
    return true;
  }

  cancel(): void {
    if (this.ended) return;
    this.ended = true;
    this.#work.return(undefined);
  }
}

/** The paced work of this thread. */
const WORKERS = new PacedWorkers({
  now: () => performance.now(),
  later: (callback) => void setImmediate(callback),
});

/** {@link PacedWorkers.start} in this thread. */
export function startPaced<T>(work: PacedWork<T>, end: PacedEnd<T>): PacedRun | undefined {
  return WORKERS.start(work, end);
}

/** The same for who awaits the result. A promise that nobody looks at any more may be rejected. */
export function pacedPromise<T>(work: PacedWork<T>): Promise<T> {
  const promise = new Promise<T>((resolve, reject) => {
    startPaced(work, { done: resolve, failed: (error) => reject(error as Error) });
  });
  promise.catch(() => undefined);
  return promise;
}
