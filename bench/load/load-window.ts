// What one load run counts. Connections report every answer here; only those that end inside the measured window are
// kept, each with its own latency, so percentiles are exact. `issuing` tells connections whether to send on.

import { percentile } from '../statistics.js';

/** What a run does with a connection. */
export interface LoadConnection {
  readonly unanswered: number;
  start(): void;
  close(): void;
}

/** Times in microseconds. */
export interface LoadReport {
  readonly seconds: number;
  readonly requests: number;
  readonly errors: number;
  readonly firstError: string | undefined;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** CPU that the generator itself spent in the window. */
  readonly generatorCpu: number;
}

export interface WindowFigures {
  readonly seconds: number;
  readonly requests: number;
  readonly errors: number;
  readonly firstError: string | undefined;
  /** Milliseconds, ascending. */
  readonly latencies: Float64Array;
}

export class LoadWindow {
  issuing = true;
  #latencies = new Float64Array(1 << 18);
  #count = 0;
  #measuring = false;
  #begin = 0;
  #end = 0;
  #errors = 0;
  #firstError: string | undefined;

  begin(): void {
    this.#begin = performance.now();
    this.#measuring = true;
  }

  end(): void {
    this.#end = performance.now();
    this.#measuring = false;
    this.issuing = false;
  }

  /** An answer whose request was sent at `sent`; both in milliseconds of `performance.now()`. */
  answered(sent: number, now: number): void {
    if (!this.#measuring) return;
    if (this.#count === this.#latencies.length) {
      const larger = new Float64Array(this.#count * 2);
      larger.set(this.#latencies);
      this.#latencies = larger;
    }
    this.#latencies[this.#count++] = now - sent;
  }

  /** Counted whenever it happens, inside the measured window or not. */
  failed(reason: string): void {
    this.#errors++;
    this.#firstError ??= reason;
  }

  figures(): WindowFigures {
    return {
      seconds: (this.#end - this.#begin) / 1000,
      requests: this.#count,
      errors: this.#errors,
      firstError: this.#firstError,
      latencies: this.#latencies.slice(0, this.#count).sort(),
    };
  }
}

/** What a window counted; `generatorCpu` in microseconds. */
export function reportOf(window: LoadWindow, generatorCpu: number): LoadReport {
  const { latencies, ...figures } = window.figures();
  const microseconds = (share: number): number => percentile(latencies, share) * 1000;
  return {
    ...figures,
    p50: microseconds(0.5),
    p90: microseconds(0.9),
    p99: microseconds(0.99),
    p999: microseconds(0.999),
    max: microseconds(1),
    generatorCpu,
  };
}
