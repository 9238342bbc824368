// A call that is refused for what its headers say. It is answered when its client has sent all of it, as many a client reads
// nothing before; one that has not done so for a while is answered and told to stop.

import type { CallListener } from './grpc-call.js';

const PATIENCE_MILLISECONDS = 100;

export class RefusedCall implements CallListener {
  readonly #answer: () => void;
  readonly #patience: NodeJS.Timeout;

  constructor(answer: () => void) {
    this.#answer = answer;
    this.#patience = setTimeout(answer, PATIENCE_MILLISECONDS).unref();
  }

  onData(): void {}

  onHalfClose(): void {
    clearTimeout(this.#patience);
    this.#answer();
  }

  onCancel(): void {
    clearTimeout(this.#patience);
  }
}
