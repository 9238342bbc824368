// What is under way for one request, one stage after the other: decoding, execution, encoding. When nobody waits for the
// answer any more, the stage that is under way is cancelled, and so is whatever would follow.

import type { InflightRequest } from '../core/response-sink.js';

export class Stages implements InflightRequest {
  #stage: InflightRequest | undefined;
  #begun = 0;
  #state: 'open' | 'cancelled' | 'ended' = 'open';

  /** Begins a stage. `start` gives what cancels it, or undefined when it is over already; it may begin the next one. */
  begin(start: () => InflightRequest | undefined): void {
    const number = ++this.#begun;
    // The stage before is over. Nothing of it is kept, nor what it refers to: requests that were queued behind it.
    this.#stage = undefined;
    const stage = start();
    if (stage === undefined || number !== this.#begun || this.#state === 'ended') return;
    if (this.#state === 'cancelled') stage.cancel();
    else this.#stage = stage;
  }

  /** Nothing is under way any more. */
  end(): void {
    this.#state = 'ended';
    this.#stage = undefined;
  }

  cancel(): void {
    if (this.#state !== 'open') return;
    this.#state = 'cancelled';
    const stage = this.#stage;
    this.#stage = undefined;
    stage?.cancel();
  }
}
