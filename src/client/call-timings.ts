// Where the time of one request went, for whoever asked to be told.

/** The parts of one request, in milliseconds. What was not reached is absent. */
export interface CallTimings {
  /** 1 for the first request of the call; those that were sent again count on. */
  readonly attempt: number;
  /** From the beginning of the call: until its turn came, and until earlier attempts had failed. */
  readonly waitMs: number;
  /** Until there was a connection, TLS included; about 0 over a kept one. Absent over `fetch`, which does not tell. */
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

  /** The connection is there. The first time counts. */
  connected(): void {
    this.#connected ??= performance.now();
  }

  /** The answer begins. */
  answered(): void {
    this.#answered ??= performance.now();
  }

  /** `complete`: the whole answer has come. */
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
