// The deadline that a client gave its call, by the grpc-timeout header.

import { parseGrpcTimeout } from '../../protocol/grpc/grpc-timeout.js';

/** The longest delay of a timer, 24 days. A deadline beyond it counts as none. */
const MAX_TIMER_MILLISECONDS = 2 ** 31 - 1;

export class CallDeadline {
  /** Why the header is malformed; undefined for a valid one. */
  readonly malformed: string | undefined;
  readonly #at: number;
  readonly #timer: NodeJS.Timeout | undefined;

  /** `timeout` is the header's text. The time starts now, and `call` expires when it has passed. */
  constructor(timeout: string, call: { expire(): void }) {
    const milliseconds = parseGrpcTimeout(timeout);
    if (milliseconds === undefined) {
      this.malformed = `malformed grpc-timeout '${timeout}', expected digits and one of H, M, S, m, u, n`;
      this.#at = Infinity;
      return;
    }
    this.#at = performance.now() + milliseconds;
    if (milliseconds <= MAX_TIMER_MILLISECONDS) this.#timer = setTimeout(expire, Math.ceil(milliseconds), call);
  }

  /** True when the time is over, even if the timer has not run yet. */
  get passed(): boolean {
    return this.#at !== Infinity && performance.now() >= this.#at;
  }

  /** The call has ended. */
  clear(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
  }
}

function expire(call: { expire(): void }): void {
  call.expire();
}
