// A timer for how long others may take. This thread must not take its own standstill (a frozen container, another callable that
// computes in it) for theirs.

import { afterReading } from './after-reading.js';

/** A timer that is later than this was held up by a standstill. */
const LATE_MILLISECONDS = 1000;

export interface ServedTimerOptions {
  /** Whether it keeps the process alive. Default false. */
  readonly keepsAlive?: boolean;
  /** How often it may begin anew. Default: whenever this thread stood still. */
  readonly renewals?: number;
}

export class ServedTimer {
  readonly #milliseconds: number;
  readonly #callback: () => void;
  readonly #keepsAlive: boolean;
  #renewals: number;
  #timer: NodeJS.Timeout;
  #due = 0;
  #isCleared = false;

  /** Calls back once the time is over and all is read that has come by then. After a standstill the time begins anew. */
  constructor(
    callback: () => void,
    milliseconds: number,
    { keepsAlive = false, renewals = Infinity }: ServedTimerOptions = {},
  ) {
    this.#callback = callback;
    this.#milliseconds = milliseconds;
    this.#keepsAlive = keepsAlive;
    this.#renewals = renewals;
    this.#timer = this.#begin();
  }

  clear(): void {
    this.#isCleared = true;
    clearTimeout(this.#timer);
  }

  #begin(): NodeJS.Timeout {
    this.#due = performance.now() + this.#milliseconds;
    const timer = setTimeout(() => this.#over(), this.#milliseconds);
    return this.#keepsAlive ? timer : timer.unref();
  }

  #over(): void {
    const isLate = performance.now() - this.#due > LATE_MILLISECONDS;
    if (isLate && this.#renewals-- > 0) this.#timer = this.#begin();
    else afterReading(() => this.#isCleared || this.#callback());
  }
}
