// Responses on their way to a loop that takes them one by one. The sender gets a promise when it has to wait.

import { Ring } from '../ring.js';

/** The sender waits when this many responses lie here. */
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

/** A queue for one loop, which calls `next` again only after it has answered. */
export class ResponseQueue<T> {
  readonly #responses = new Ring<T>();
  #taker: Taker<T> | undefined;
  /** Senders that brought too many responses, and wait. */
  readonly #waiting: (() => void)[] = [];
  #end: End | undefined;

  /** Takes a response. Returns a promise when the loop is slow and the next one should wait. After the end it keeps nothing. */
  push(response: T): void | Promise<void> {
    if (this.#end !== undefined) return;
    if (this.#taker !== undefined) return this.#take().resolve({ value: response, done: false });
    this.#responses.push(response);
    if (this.#responses.length < HIGH_WATER) return;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Ends the queue: no more responses come. */
  end(): void {
    this.#finish({ failed: false });
  }

  /** Ends the queue with this reason: no more responses come. */
  fail(error: unknown): void {
    this.#finish({ failed: true, error });
  }

  /** The loop wants no more. */
  close(): void {
    this.#responses.clear();
    this.end();
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
    // Nothing follows what they brought, and the loop may never take it.
    this.#release();
    if (this.#taker !== undefined) this.#tellEnd();
  }

  #tellEnd(): void {
    const { resolve, reject } = this.#take();
    const { failed, error } = this.#end!;
    // Like a generator, the queue throws its error once.
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
