// Runs paced work so that others have their turn: one slice of all paced work in a turn of the event loop.

import type { PacedWork } from './paced-work.js';

/** The callbacks of paced work. One of them is called, once, unless the work is cancelled. */
export interface PacedEnd<T> {
  done(value: T): void;
  failed(error: unknown): void;
}

/** Work under way. */
export interface PacedRun {
  /**
   * Ends the work without a result: only its `finally` blocks still run. Work that is cancelled by what it does itself ends at its
   * next pause, or with its result where no pause follows.
   */
  cancel(): void;
}

/** What paced work needs of a thread. */
export interface PacedThread {
  /** Milliseconds, on a clock that only goes forward. */
  now(): number;
  /** Calls back when the waiting events have been served. */
  later(callback: () => void): void;
}

/**
 * How long paced work may hold the thread until others have their turn, in milliseconds. A small request that arrives meanwhile
 * waits as long. A turn of the event loop costs some microseconds, so shorter slices would slow down large requests.
 */
const SLICE_MS = 0.25;

/** Shares a thread between pieces of paced work, which take turns: one slice in a turn of the event loop. */
export class PacedWorkers {
  readonly #thread: PacedThread;
  readonly #waiting: Run[] = [];
  #scheduled = false;

  constructor(thread: PacedThread) {
    this.#thread = thread;
  }

  /**
   * Does the work up to its first pause now, and the rest in slices. Returns undefined when the work has ended and
   * `end` has been called.
   */
  start<T>(work: PacedWork<T>, end: PacedEnd<T>): PacedRun | undefined {
    // Most work ends here, and needs no entry in the list.
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
    // The next slice is scheduled first, so that the others go on whatever this one's end throws.
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
  #isWorking = false;
  /** It was cancelled while it worked. */
  #isCancelled = false;

  constructor(work: PacedWork<unknown>, end: PacedEnd<unknown>) {
    this.#work = work;
    this.#end = end;
  }

  /** Works up to the next pause. Returns true when the work has ended. */
  step(): boolean {
    let step;
    this.#isWorking = true;
    try {
      step = this.#work.next();
    } catch (error) {
      this.ended = true;
      this.#end.failed(error);
      return true;
    }
    this.#isWorking = false;
    if (step.done === true) {
      this.ended = true;
      this.#end.done(step.value);
    } else if (this.#isCancelled) this.cancel();
    return this.ended;
  }

  cancel(): void {
    if (this.ended) return;
    // A generator that runs cannot be ended.
    this.#isCancelled = this.#isWorking;
    if (this.#isWorking) return;
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

/** The same with a promise of the result. A promise that nobody awaits may reject without harm. */
export function pacedPromise<T>(work: PacedWork<T>): Promise<T> {
  const promise = new Promise<T>((resolve, reject) => {
    startPaced(work, { done: resolve, failed: (error) => reject(error as Error) });
  });
  promise.catch(() => undefined);
  return promise;
}
