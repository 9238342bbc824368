// Takes regions back from the server. tritonserver refuses that while a request uses the region, also one whose client is gone.
// Then it is asked again, because until then the server keeps the memory. So is a server that does not answer in time.

import { TritonError } from '../../errors.js';
import { TritonTimeoutError } from '../client-errors.js';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1000;
/** How long the end of a region may take once the memory is closed. */
export const UNREGISTER_MS = 5000;
const IN_USE = /is currently in use/;

export class Unregistering {
  readonly #unregister: (name: string) => Promise<unknown>;
  /** Of the waits. They keep the process alive only when somebody waits for the close. */
  readonly #timers = new Set<NodeJS.Timeout>();
  #giveUpAt = Infinity;

  constructor(unregister: (name: string) => Promise<unknown>) {
    this.#unregister = unregister;
  }

  /** Never rejects: a server that is away has lost its regions. */
  async end(name: string): Promise<void> {
    for (let wait = FIRST_WAIT_MS; await this.#isKept(name); wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      if (performance.now() + wait > this.#giveUpAt) return;
      await this.#pause(wait);
    }
  }

  /** Regions end soon from now on, or stay at the server. */
  hurry(): void {
    this.#giveUpAt = performance.now() + UNREGISTER_MS;
    for (const timer of this.#timers) timer.ref();
  }

  #isKept(name: string): Promise<boolean> {
    return this.#unregister(name).then(
      () => false,
      (error: unknown) => TritonTimeoutError.is(error) || IN_USE.test(TritonError.from(error).message),
    );
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        resolve();
      }, milliseconds);
      this.#timers.add(timer);
      if (this.#giveUpAt === Infinity) timer.unref();
    });
  }
}
