// Where the time of one request went, for the caller's `onTimings`.

/** How long each part of one request took, in milliseconds. Parts that the request did not reach are absent. */
export interface CallTimings {
  /** 1 for the first request of the call, and one more for each retry. */
  readonly attempt: number;
  /** From the beginning of the call: the wait for its turn, and all earlier attempts. */
  readonly waitMs: number;
  /** Until there was a connection, TLS included; about 0 over a kept connection. Absent over `fetch`, which does not report it. */
  readonly connectMs?: number;
  /** From then on, until the answer began: the request on its way, and the server. */
  readonly serverMs?: number;
  /** Until the answer was complete. */
  readonly transferMs?: number;
}

export class CallClock {
  readonly #attempt: number;
  readonly #waitMs: number;
  readonly #start = performance.now();
  #connected: number | undefined;
  #answered: number | undefined;

  constructor(attempt: number, waitMs: number) {
    this.#attempt = attempt;
    this.#waitMs = waitMs;
  }

  /** Notes that the connection is there. Only the first call counts. */
  connected(): void {
    this.#connected ??= performance.now();
  }

  /** Notes that the answer begins. Only the first call counts. */
  answered(): void {
    this.#answered ??= performance.now();
  }

  /** `complete`: whether the whole answer has come. */
  timings(complete: boolean): CallTimings {
    const connected = this.#connected;
    const answered = this.#answered;
    return {
      attempt: this.#attempt,
      waitMs: this.#waitMs,
      ...(connected === undefined ? {} : { connectMs: connected - this.#start }),
      ...(answered === undefined ? {} : { serverMs: answered - (connected ?? this.#start) }),
      ...(answered === undefined || !complete ? {} : { transferMs: performance.now() - answered }),
    };
  }
}
