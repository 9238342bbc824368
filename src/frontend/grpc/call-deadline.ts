// The deadline that a client gave its call, by the grpc-timeout header.

import { parseGrpcTimeout } from '../../protocol/grpc/grpc-timeout.js';

/** The longest delay of a timer; a deadline beyond it, 24 days, is none. */
const MAX_TIMER_MILLISECONDS = 2 ** 31 - 1;

export class CallDeadline {
  /** Why the header cannot be understood; undefined when it can. */
  readonly malformed: string | undefined;
  readonly #at: number;
  readonly #timer: NodeJS.Timeout | undefined;

  /** `timeout` is the header's text, from now on; `call` is told when the time has passed. */
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

  /** True when the time is over, also before the call could be told. */
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
