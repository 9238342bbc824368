// Limits the time that all streams together may take of one turn of the event loop, so that sockets, timers and other
// requests are served in between. A stream beyond the limit waits; in each turn the first waiting stream goes on.

/** The longest time that streams may hold the event loop, in milliseconds. */
const LONGEST_MS = 1;

export interface EventLoop {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Calls back in the next turn. */
  defer(callback: () => void): void;
}

export class LoopShare {
  readonly #loop: EventLoop;
  /** When a stream began to work in this turn; undefined while none has. */
  #since: number | undefined;
  readonly #waiting: (() => void)[] = [];
  #isDeferred = false;

  constructor(loop: EventLoop) {
    this.#loop = loop;
  }

  /** Whether streams have had their share of this turn. Streams ask before each piece of work. */
  isUsedUp(): boolean {
    const now = this.#loop.now();
    if (this.#since !== undefined) return now - this.#since > LONGEST_MS;
    this.#since = now;
    this.#defer();
    return false;
  }

  /** Calls back in a later turn, in which the caller may work. */
  next(goOn: () => void): void {
    this.#waiting.push(goOn);
    this.#defer();
  }

  #defer(): void {
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    this.#loop.defer(() => {
      this.#isDeferred = false;
      this.#since = undefined;
      const goOn = this.#waiting.shift();
      if (this.#waiting.length > 0) this.#defer();
      goOn?.();
    });
  }
}

/** The share of this thread's event loop. */
export const loopShare = new LoopShare({
  now: () => performance.now(),
  defer: (callback) => void setImmediate(callback),
});
