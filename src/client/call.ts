// The limits of one call: its deadline, the signals that cancel it, and the client's close. The first of them aborts the call, and
// the call fails with its TritonError. `end` leaves no timer and no listener behind.
// A call also carries facts beyond the request that the transports need.

import { TritonError } from '../errors.js';
import type { CallClock } from './call-timings.js';
import { TritonTimeoutError } from './client-errors.js';
import { followSignal } from '../lifecycle/follow-signal.js';

export interface CallLimits {
  readonly timeoutMs: number;
  readonly signals: readonly (AbortSignal | undefined)[];
  /** Names the call and the server in error messages. */
  readonly subject: string;
}

export class Call {
  readonly #limits: CallLimits;
  readonly #whole: Call | undefined;
  #deadline = Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #callbacks = new Set<(error: TritonError) => void>();
  readonly #unfollow: (() => void)[] = [];
  /** Why the call is waiting, for the error message at its deadline. */
  reason: string | undefined;
  /** The clock of the current request, if the caller wants timings. */
  clock: CallClock | undefined;
  /** Whether executing the request twice does no harm. */
  idempotent = false;
  #error: TritonError | undefined;
  #expired = false;

  /** `whole`: the call that contains this one as a part. */
  constructor(limits: CallLimits, whole?: Call) {
    this.#limits = limits;
    this.#whole = whole;
    if (whole === undefined) this.restart();
    else this.#follow(whole);
    for (const signal of limits.signals) {
      if (signal === undefined) continue;
      if (signal.aborted) this.#cancel(signal);
      else this.#unfollow.push(followSignal(signal, () => this.#cancel(signal)));
    }
  }

  /** Makes a part of the call. It is aborted with the whole call, or alone. The whole call's deadline applies. */
  part(): Call {
    return new Call({ ...this.#limits, signals: [] }, this);
  }

  /** Why the call was aborted; undefined while it was not. */
  get error(): TritonError | undefined {
    return this.#error;
  }

  /** Whether the deadline has passed. */
  get expired(): boolean {
    return this.#expired;
  }

  get remainingMs(): number {
    return Math.max(this.#deadline - performance.now(), 0);
  }

  /** Starts the time limit anew, for calls whose limit applies to each step. */
  restart(): void {
    this.pause();
    if (this.#error !== undefined) return;
    this.#deadline = performance.now() + this.#limits.timeoutMs;
    this.#timer = setTimeout(() => this.#expire(), this.#limits.timeoutMs);
  }

  /** Stops the time limit until {@link restart}. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#deadline = Infinity;
  }

  throwIfAborted(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** Also checks the deadline by the clock: a timer is late by up to a millisecond, and by more in a busy thread. */
  throwIfOver(): void {
    if (this.#error === undefined && performance.now() >= this.#deadline) this.#expire();
    this.throwIfAborted();
  }

  /** Calls back once when the call is aborted, or at once if it already is. Returns a function that removes the callback. */
  onAbort(callback: (error: TritonError) => void): () => void {
    if (this.#error !== undefined) {
      callback(this.#error);
      return () => {};
    }
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  /** Settles as `promise` does, or rejects when the call is aborted. The work behind the promise goes on. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onAbort(reject);
      promise.then(resolve, reject).finally(forget);
    });
  }

  /** Settles after the time, and rejects when the call is aborted; no timer is left then. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        forget();
        resolve();
      }, ms);
      const forget = this.onAbort((error) => {
        clearTimeout(timer);
        reject(error);
      });
    });
  }

  /** Aborts the call. Only the first error counts. `expired`: because a deadline has passed. */
  abort(error: TritonError, expired = false): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#expired = expired;
    this.end();
    for (const callback of this.#callbacks) callback(error);
    this.#callbacks.clear();
  }

  /** Lets go of the timer and the signals. */
  end(): void {
    this.pause();
    for (const unfollow of this.#unfollow.splice(0)) unfollow();
  }

  deadlineError(): TritonError {
    const { timeoutMs, subject } = this.#limits;
    const reason = this.reason === undefined ? '' : `: ${this.reason}`;
    return new TritonTimeoutError(`deadline of ${timeoutMs} ms exceeded for ${subject}${reason}`);
  }

  #follow(whole: Call): void {
    this.#deadline = whole.#deadline;
    this.idempotent = whole.idempotent;
    this.#unfollow.push(whole.onAbort((error) => this.abort(error, whole.#expired)));
  }

  #expire(): void {
    // The whole call has run out of time: all parts end with its error.
    if (this.#whole !== undefined) return this.#whole.#expire();
    this.abort(this.deadlineError(), true);
  }

  #cancel(signal: AbortSignal): void {
    const error = new TritonError('CANCELLED', `${this.#limits.subject} was cancelled by its signal`, {
      cause: signal.reason,
    });
    this.abort(error);
  }
}
