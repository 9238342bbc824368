// How late the event loop of this thread is, as a histogram that only grows. A timer every 20 milliseconds measures its own
// delay. perf_hooks' monitor samples the same at less cost, but does not give out its buckets. It also loses the sample under way
// whenever it is read and reset.

import { Histogram } from '../../core/metrics/histogram.js';

export const SAMPLING_MS = 20;

/** Upper bounds in seconds. Node's timers are up to a millisecond late anyway. */
const LAG_BOUNDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

export class EventLoopLag {
  /** Delays in seconds, since the start. */
  readonly histogram = new Histogram(LAG_BOUNDS);
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    if (this.#timer !== undefined) return;
    let before = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.histogram.observe(Math.max(0, now - before - SAMPLING_MS) / 1000);
      before = now;
    }, SAMPLING_MS);
    // The measurement must not keep the process alive.
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
