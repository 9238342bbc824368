// Counts and durations of one model version with the meaning of Triton's statistics extension
// (docs/protocol/extension_statistics). Durations come in as milliseconds of the monotonic clock and are kept
// and reported in nanoseconds.

import type { ExecutionTimes } from './instance/model-instance.js';

export interface StatisticDuration {
  readonly count: number;
  readonly ns: number;
}

export interface BatchStatistics {
  readonly batchSize: number;
  readonly computeInput: StatisticDuration;
  readonly computeInfer: StatisticDuration;
  readonly computeOutput: StatisticDuration;
}

/** One entry of the statistics extension's `model_stats`. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** Wall-clock milliseconds since the epoch of the last execution; 0 when there was none. */
  readonly lastInference: number;
  /** Rows answered successfully by executions. */
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly success: StatisticDuration;
  readonly fail: StatisticDuration;
  readonly queue: StatisticDuration;
  readonly computeInput: StatisticDuration;
  readonly computeInfer: StatisticDuration;
  readonly computeOutput: StatisticDuration;
  readonly cacheHit: StatisticDuration;
  readonly cacheMiss: StatisticDuration;
  /** Ascending by batch size. */
  readonly batchStats: readonly BatchStatistics[];
}

/** Why a request failed after it was accepted: the `reason` label of nv_inference_request_failure. */
export const FAILURE_REASONS = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

class Duration implements StatisticDuration {
  count = 0;
  #ms = 0;

  get ns(): number {
    return Math.round(this.#ms * 1e6);
  }

  add(ms: number): void {
    this.count++;
    this.#ms += ms;
  }
}

/** Collects what happens to the requests of one model version. */
export class InferenceStatistics {
  readonly success = new Duration();
  readonly fail = new Duration();
  readonly queue = new Duration();
  readonly computeInput = new Duration();
  readonly computeInfer = new Duration();
  readonly computeOutput = new Duration();
  readonly cacheHit = new Duration();
  readonly cacheMiss = new Duration();
  readonly failures: Record<FailureReason, number> = { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 };
  inferenceCount = 0;
  executionCount = 0;
  lastInference = 0;
  /** Requests accepted and not yet executing. */
  pending = 0;
  readonly #batches = new Map<number, { computeInput: Duration; computeInfer: Duration; computeOutput: Duration }>();

  /** One execution of a batch of so many rows ended. */
  recordExecution(rows: number, times: ExecutionTimes): void {
    this.executionCount++;
    this.lastInference = Date.now();
    let batch = this.#batches.get(rows);
    if (batch === undefined) {
      batch = { computeInput: new Duration(), computeInfer: new Duration(), computeOutput: new Duration() };
      this.#batches.set(rows, batch);
    }
    batch.computeInput.add(times.computeInput);
    batch.computeInfer.add(times.computeInfer);
    batch.computeOutput.add(times.computeOutput);
  }

  /** One request of an execution was answered. `total` and `queued` are milliseconds. */
  recordSuccess(rows: number, total: number, queued: number, times: ExecutionTimes): void {
    this.inferenceCount += rows;
    this.success.add(total);
    this.queue.add(queued);
    this.computeInput.add(times.computeInput);
    this.computeInfer.add(times.computeInfer);
    this.computeOutput.add(times.computeOutput);
  }

  /** One accepted request failed after `total` milliseconds. */
  recordFailure(reason: FailureReason, total: number): void {
    this.fail.add(total);
    this.failures[reason]++;
  }

  report(name: string, version: string): ModelStatistics {
    const plain = ({ count, ns }: Duration): StatisticDuration => ({ count, ns });
    return {
      name,
      version,
      lastInference: this.lastInference,
      inferenceCount: this.inferenceCount,
      executionCount: this.executionCount,
      success: plain(this.success),
      fail: plain(this.fail),
      queue: plain(this.queue),
      computeInput: plain(this.computeInput),
      computeInfer: plain(this.computeInfer),
      computeOutput: plain(this.computeOutput),
      cacheHit: plain(this.cacheHit),
      cacheMiss: plain(this.cacheMiss),
      batchStats: [...this.#batches.entries()]
        .sort(([a], [b]) => a - b)
        .map(([batchSize, batch]) => ({
          batchSize,
          computeInput: plain(batch.computeInput),
          computeInfer: plain(batch.computeInfer),
          computeOutput: plain(batch.computeOutput),
        })),
    };
  }
}
