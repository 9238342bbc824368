// What streams may take of the event loop: all of them together so much in one turn, so that sockets, timers and other
// requests are served in between. Who wants more waits; in each turn the first that waits goes on.

/** How long streams may keep the event loop from everything else, in milliseconds. */
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

  /** Whether streams have had their share of this turn: to be asked before each piece of work. */
  isUsedUp(): boolean {
    const now = this.#loop.now();
    if (this.#since !== undefined) return now - this.#since > LONGEST_MS;
    this.#since = now;
    this.#defer();
    return false;
  }

  /** Calls back in a later turn, which is the caller's then. */
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

/** Of this thread, as its event loop is. */
export const loopShare = new LoopShare({
  now: () => performance.now(),
  defer: (callback) => void setImmediate(callback),
});
