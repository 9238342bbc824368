// Quantiles of the protocol's durations, which Triton shows with `summary_latencies=true`. In whole microseconds, as there.

import type { ExecutionTimes } from '../instance/model-instance.js';
import type { TargetQuantile } from './quantile-sketch.js';
import { Summary } from './summary.js';

export class LatencySummaries {
  readonly request: Summary;
  readonly queue: Summary;
  readonly computeInput: Summary;
  readonly computeInfer: Summary;
  readonly computeOutput: Summary;
  readonly cacheHit: Summary;
  readonly cacheMiss: Summary;

  constructor(targets: readonly TargetQuantile[]) {
    const now = performance.now();
    this.request = new Summary(targets, now);
    this.queue = new Summary(targets, now);
    this.computeInput = new Summary(targets, now);
    this.computeInfer = new Summary(targets, now);
    this.computeOutput = new Summary(targets, now);
    this.cacheHit = new Summary(targets, now);
    this.cacheMiss = new Summary(targets, now);
  }

  /** Milliseconds here and below. */
  recordSuccess(total: number, queued: number, times: ExecutionTimes): void {
    const now = performance.now();
    this.request.observe(microseconds(total), now);
    this.queue.observe(microseconds(queued), now);
    this.computeInput.observe(microseconds(times.computeInput), now);
    this.computeInfer.observe(microseconds(times.computeInfer), now);
    this.computeOutput.observe(microseconds(times.computeOutput), now);
  }

  recordCacheHit(queued: number, lookup: number): void {
    const now = performance.now();
    this.queue.observe(microseconds(queued), now);
    this.cacheHit.observe(microseconds(lookup), now);
  }

  recordCacheMiss(milliseconds: number): void {
    this.cacheMiss.observe(microseconds(milliseconds), performance.now());
  }
}

function microseconds(milliseconds: number): number {
  return Math.floor(milliseconds * 1000);
}
