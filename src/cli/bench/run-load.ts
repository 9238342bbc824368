// Load with a closed loop: so many senders, each of which sends its next request when the last one has been answered.

import { performance } from 'node:perf_hooks';

import { TritonError } from '../../errors.js';
import { LatencyHistogram } from './latency-histogram.js';

export interface LoadPlan {
  readonly concurrency: number;
  readonly warmupMs: number;
  readonly durationMs: number;
  /** Undefined: as many as the time allows. */
  readonly requests: number | undefined;
  readonly signal: AbortSignal;
  /** Told after each request: the share of all that is done, and whether it is measured. */
  readonly onRequest: (share: number, measured: number) => void;
}

/** What one request came to: `first` is when the first of several answers was there. */
export interface Answered {
  readonly answers: number;
  readonly firstMs: number | undefined;
}

export interface LoadFigures {
  readonly seconds: number;
  readonly requests: number;
  readonly answers: number;
  readonly latency: LatencyHistogram;
  /** Until the first answer, of requests with several. */
  readonly first: LatencyHistogram;
  readonly failed: number;
  /** How often each failure came, by its message; of the first hundred messages. */
  readonly failures: ReadonlyMap<string, number>;
}

const MOST_FAILURES = 100;

/**
 * `send` gets the sender's number, from 0. Ends with the time, the number of requests, or the signal. Awaits and counts
 * the requests under way then. Each sender sends one request at least that is measured, however long the requests before
 * it took.
 */
export async function runLoad(send: (sender: number) => Promise<Answered>, plan: LoadPlan): Promise<LoadFigures> {
  const started = performance.now();
  const measuredFrom = started + plan.warmupMs;
  const end = measuredFrom + plan.durationMs;
  const [latency, first, failures] = [new LatencyHistogram(), new LatencyHistogram(), new Map<string, number>()];
  const totals = { requests: 0, begun: 0, answers: 0, failed: 0, first: Infinity, last: 0 };

  const isOver = (now: number, hasMeasured: boolean) =>
    plan.signal.aborted ||
    (now >= end && hasMeasured) ||
    (plan.requests !== undefined && totals.begun >= plan.requests);

  /** Whether the request is measured. */
  async function sendOne(number: number, begin: number): Promise<boolean> {
    const isMeasured = begin >= measuredFrom;
    if (isMeasured) {
      totals.begun++;
      totals.first = Math.min(totals.first, begin);
    }
    try {
      const answered = await send(number);
      if (!isMeasured) return false;
      totals.last = performance.now();
      latency.add(totals.last - begin);
      if (answered.firstMs !== undefined) first.add(answered.firstMs);
      totals.answers += answered.answers;
      totals.requests++;
    } catch (error) {
      if (plan.signal.aborted) return isMeasured;
      const { message } = TritonError.from(error);
      totals.failed++;
      if (failures.has(message) || failures.size < MOST_FAILURES)
        failures.set(message, (failures.get(message) ?? 0) + 1);
    }
    return isMeasured;
  }

  async function sender(number: number): Promise<void> {
    let hasMeasured = false;
    for (let now = performance.now(); !isOver(now, hasMeasured); now = performance.now()) {
      hasMeasured = await sendOne(number, now);
      const share = Math.max(
        (performance.now() - started) / (end - started),
        totals.begun / (plan.requests ?? Infinity),
      );
      plan.onRequest(share, totals.requests);
    }
  }

  await Promise.all(Array.from({ length: plan.concurrency }, (_, number) => sender(number)));
  const seconds = Math.max(totals.last - totals.first, 0) / 1000;
  const { requests, answers, failed } = totals;
  return { seconds, requests, answers, latency, first, failed, failures };
}
