// How late the event loop of this thread is, as a histogram that only grows. perf_hooks samples it outside JavaScript,
// with a timer every 10 milliseconds; what it has sampled since is counted into the buckets when someone asks.

import { monitorEventLoopDelay } from 'node:perf_hooks';

import { Histogram } from '../../core/metrics/histogram.js';

const RESOLUTION_MS = 10;

/** Upper bounds in seconds. */
const LAG_BOUNDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** What is used of perf_hooks' histogram, in nanoseconds. */
export interface DelaySamples {
  readonly count: number;
  readonly mean: number;
  readonly max: number;
  percentile(percentile: number): number;
  reset(): void;
}

export class EventLoopLag {
  readonly #monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #histogram = new Histogram(LAG_BOUNDS);

  start(): void {
    this.#monitor.enable();
  }

  stop(): void {
    this.#monitor.disable();
  }

  /** Of everything since the start. */
  histogram(): Histogram {
    countSamples(this.#monitor, this.#histogram, RESOLUTION_MS / 1000);
    return this.#histogram;
  }
}

/** Moves the samples into the histogram. Each is the time between two firings of a timer of `interval` seconds. */
export function countSamples(samples: DelaySamples, histogram: Histogram, interval: number): void {
  const { count, mean } = samples;
  if (count === 0) return;
  const lags = (rank: number) => Math.max(0, samples.percentile((100 * rank) / count) / 1e9 - interval);
  const largest = Math.max(0, samples.max / 1e9 - interval);
  const counts: number[] = [];
  let below = 0;
  for (const bound of histogram.bounds) {
    const upTo = largest <= bound ? count : highestRank(below, count, (rank) => lags(rank) <= bound);
    counts.push(upTo - below);
    below = upTo;
  }
  counts.push(count - below);
  // Timers may fire a little early: on the whole there is no lag then.
  histogram.add(counts, Math.max(0, count * (mean / 1e9 - interval)));
  samples.reset();
}

/** The highest rank from `low` to `high` that fits, where all ranks below one that fits do too; `low` if none above does. */
function highestRank(low: number, high: number, fits: (rank: number) => boolean): number {
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
