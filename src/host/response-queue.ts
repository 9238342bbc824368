// Responses on their way to a loop that takes them one by one: a promise says when the sender has to wait.

/** How many may lie here before whoever brings them is to wait. */
const HIGH_WATER = 16;

interface Taker<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/** How the responses ended. */
interface End {
  readonly failed: boolean;
  readonly error?: unknown;
}

/** For one loop: `next` is not called again before it has answered. */
export class ResponseQueue<T> {
  readonly #responses: T[] = [];
  #taker: Taker<T> | undefined;
  /** Those that brought too many. */
  readonly #waiting: (() => void)[] = [];
  #end: End | undefined;

  /** A promise: the loop is slow, and the next should wait. After the end nothing is kept. */
  push(response: T): void | Promise<void> {
    if (this.#end !== undefined) return;
    if (this.#taker !== undefined) return this.#take().resolve({ value: response, done: false });
    if (this.#responses.push(response) < HIGH_WATER) return;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** There will be no more. */
  end(): void {
    this.#finish({ failed: false });
  }

  /** There will be no more, for this reason. */
  fail(error: unknown): void {
    this.#finish({ failed: true, error });
  }

  /** The loop wants no more. */
  close(): void {
    this.#responses.length = 0;
    this.end();
    this.#release();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#responses.length > 0) {
      const value = this.#responses.shift()!;
      if (this.#responses.length < HIGH_WATER) this.#release();
      return Promise.resolve({ value, done: false });
    }
    return new Promise((resolve, reject) => {
      this.#taker = { resolve, reject };
      if (this.#end !== undefined) this.#tellEnd();
    });
  }

  #finish(end: End): void {
    this.#end ??= end;
    if (this.#taker !== undefined) this.#tellEnd();
  }

  #tellEnd(): void {
    const { resolve, reject } = this.#take();
    const { failed, error } = this.#end!;
    // Thrown once, as by a generator.
    this.#end = { failed: false };
    if (failed) reject(error);
    else resolve({ value: undefined, done: true });
  }

  #take(): Taker<T> {
    const taker = this.#taker!;
    this.#taker = undefined;
    return taker;
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
