// Counts and durations of one model version with the meaning of Triton's statistics extension
// (docs/protocol/extension_statistics), and what metrics show beyond it. Durations come in as milliseconds of the
// monotonic clock. The counts hold together: as many queue times as successes, and as many of each compute time as
// successes that did not come from the cache.

import type { ErrorCode } from '../../errors.js';
import type { ModelStatistics, StatisticDuration } from '../../model/model-statistics.js';
import type { ExecutionTimes } from '../instance/model-instance.js';
import { CustomMetrics } from '../metrics/custom-metrics.js';
import { Histogram } from '../metrics/histogram.js';
import { LatencySummaries } from '../metrics/latency-summaries.js';
import type { TargetQuantile } from '../metrics/quantile-sketch.js';
import { ResponseCounters } from './response-statistics.js';
import type { ReleaseReason } from './request-group.js';

/** Adds up milliseconds, reports nanoseconds. */
export class Duration implements StatisticDuration {
  count = 0;
  ms = 0;

  get ns(): number {
    return Math.round(this.ms * 1e6);
  }

  add(ms: number): void {
    this.count++;
    this.ms += ms;
  }
}

/** The parts of executions. */
interface ComputeDurations {
  readonly computeInput: Duration;
  readonly computeInfer: Duration;
  readonly computeOutput: Duration;
}

function addTimes({ computeInput, computeInfer, computeOutput }: ComputeDurations, times: ExecutionTimes): void {
  computeInput.count++;
  computeInput.ms += times.computeInput;
  computeInfer.count++;
  computeInfer.ms += times.computeInfer;
  computeOutput.count++;
  computeOutput.ms += times.computeOutput;
}

/** Why a request failed after it was accepted: the `reason` label of nv_inference_request_failure. */
export const FAILURE_REASONS = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** Upper bounds in seconds: of requests and of waiting. */
const LATENCY_BOUNDS: readonly number[] = [
  0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50,
];
/** Upper bounds in rows. The same for all models, so that sums over models have a meaning. */
const BATCH_BOUNDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

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
  /** Batches given to instances, by the reason for the release. */
  readonly releases: Record<ReleaseReason, number> = { full: 0, preferred: 0, delay: 0, idle: 0, shape: 0, single: 0 };
  /** Requests that were never accepted, by the error code that the client got. */
  readonly refusals = new Map<ErrorCode, number>();
  /** Seconds from arrival to answer, of successful requests. */
  readonly requestDuration = new Histogram(LATENCY_BOUNDS);
  /** Seconds in the queue, of requests that were executed. */
  readonly queueWait = new Histogram(LATENCY_BOUNDS);
  /** Seconds from arrival to the first response of a decoupled model. */
  readonly firstResponse = new Histogram(LATENCY_BOUNDS);
  /** Rows of executed batches. */
  readonly batchRows = new Histogram(BATCH_BOUNDS);
  readonly responses = new ResponseCounters();
  /** What the model's callables count themselves. */
  readonly custom = new CustomMetrics();
  /** Undefined unless asked for. */
  readonly summaries: LatencySummaries | undefined;
  inferenceCount = 0;
  executionCount = 0;
  lastInference = 0;
  /** Requests accepted and not yet executing. */
  pending = 0;
  /** Counts the sequences of a model that batches by sequences: live ones, live ones without a slot, and expired ones. */
  readonly sequences = { live: 0, backlog: 0, expired: 0 };
  /** Milliseconds that executions took, on all instances together. */
  busyMs = 0;
  /** Instances whose thread was started again. */
  instanceRestarts = 0;
  /** How long loading took; undefined until it is done. */
  loadSeconds: number | undefined;
  readonly #batches = new Map<number, ComputeDurations>();

  /** With `summaries`, quantiles of the protocol's durations are kept too. */
  constructor(summaries?: readonly TargetQuantile[]) {
    this.summaries = summaries && new LatencySummaries(summaries);
  }

  /** The model was loaded in so many milliseconds. */
  recordLoad(milliseconds: number): void {
    this.loadSeconds = milliseconds / 1000;
  }

  /** A batch of so many rows was given to an instance. */
  recordRelease(reason: ReleaseReason, rows: number): void {
    this.releases[reason]++;
    this.batchRows.observe(rows);
  }

  /** A request left the queue for an instance after so many milliseconds. */
  recordDispatch(queued: number): void {
    this.queueWait.observe(queued / 1000);
  }

  /** The first response of a decoupled model's request came so many milliseconds after the request. */
  recordFirstResponse(milliseconds: number): void {
    this.firstResponse.observe(milliseconds / 1000);
  }

  /** One execution of a batch of so many rows ended. */
  recordExecution(rows: number, times: ExecutionTimes): void {
    this.executionCount++;
    this.busyMs += times.computeInput + times.computeInfer + times.computeOutput;
    this.lastInference = Date.now();
    let batch = this.#batches.get(rows);
    if (batch === undefined) {
      batch = { computeInput: new Duration(), computeInfer: new Duration(), computeOutput: new Duration() };
      this.#batches.set(rows, batch);
    }
    addTimes(batch, times);
  }

  /** One request of an execution was answered. `total` and `queued` are milliseconds. */
  recordSuccess(rows: number, total: number, queued: number, times: ExecutionTimes): void {
    this.recordStep(rows, total, queued, times);
    this.requestDuration.observe(total / 1000);
  }

  /** One request of an execution is to be executed again, which the protocol counts as a success too. */
  recordStep(rows: number, total: number, queued: number, times: ExecutionTimes): void {
    this.inferenceCount += rows;
    this.success.add(total);
    this.queue.add(queued);
    addTimes(this, times);
    this.summaries?.recordSuccess(total, queued, times);
  }

  /** One request was answered from the cache: `queued` until the look-up, which took `lookup`, of `total` milliseconds. */
  recordCacheHit(total: number, queued: number, lookup: number): void {
    this.success.add(total);
    this.queue.add(queued);
    this.cacheHit.add(lookup);
    this.requestDuration.observe(total / 1000);
    this.summaries?.recordCacheHit(queued, lookup);
  }

  /** One request was not in the cache; looking it up and putting its answer there took `milliseconds` together. */
  recordCacheMiss(milliseconds: number): void {
    this.cacheMiss.add(milliseconds);
    this.summaries?.recordCacheMiss(milliseconds);
  }

  /** One accepted request failed after `total` milliseconds. */
  recordFailure(reason: FailureReason, total: number): void {
    this.fail.add(total);
    this.failures[reason]++;
  }

  /** One request was turned away before it was accepted: it counts nowhere else. */
  recordRefusal(code: ErrorCode): void {
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
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
      responseStats: this.responses.report(),
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
