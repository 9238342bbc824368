// The longest time that the event loop of this thread was held: a timer of a millisecond tells by how much it was late.
// Where the kernel tells how long the thread waited for a core, that is taken off: a busy machine is not the server's fault.

import { readFileSync } from 'node:fs';

export class EventLoopStall {
  #most = 0;
  #before = this.#now();
  readonly #timer = setInterval(() => this.#look(), 1);

  /** In milliseconds, since the last call. */
  take(): number {
    this.#look();
    const most = this.#most;
    this.#most = 0;
    return most;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = this.#now();
    this.#most = Math.max(this.#most, now - this.#before);
    this.#before = now;
  }

  /** Milliseconds without those in which the thread wanted a core and had none. */
  #now(): number {
    return performance.now() - waited();
  }
}

function waited(): number {
  try {
    const [, nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(nanoseconds) / 1e6;
  } catch {
    return 0;
  }
}
