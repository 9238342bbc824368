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

/** Ends with the time, the number of requests, or the signal; what is under way then is awaited and counted. */
export async function runLoad(send: () => Promise<Answered>, plan: LoadPlan): Promise<LoadFigures> {
  const started = performance.now();
  const measuredFrom = started + plan.warmupMs;
  const end = measuredFrom + plan.durationMs;
  const [latency, first, failures] = [new LatencyHistogram(), new LatencyHistogram(), new Map<string, number>()];
  const totals = { requests: 0, begun: 0, answers: 0, failed: 0, last: measuredFrom };

  const isOver = (now: number) =>
    plan.signal.aborted || now >= end || (plan.requests !== undefined && totals.begun >= plan.requests);

  async function sendOne(begin: number): Promise<void> {
    const isMeasured = begin >= measuredFrom;
    if (isMeasured) totals.begun++;
    try {
      const answered = await send();
      if (!isMeasured) return;
      totals.last = performance.now();
      latency.add(totals.last - begin);
      if (answered.firstMs !== undefined) first.add(answered.firstMs);
      totals.answers += answered.answers;
      totals.requests++;
    } catch (error) {
      if (plan.signal.aborted) return;
      const { message } = TritonError.from(error);
      totals.failed++;
      if (failures.has(message) || failures.size < MOST_FAILURES)
        failures.set(message, (failures.get(message) ?? 0) + 1);
    }
  }

  async function sender(): Promise<void> {
    for (let now = performance.now(); !isOver(now); now = performance.now()) {
      await sendOne(now);
      const share = Math.max(
        (performance.now() - started) / (end - started),
        totals.begun / (plan.requests ?? Infinity),
      );
      plan.onRequest(share, totals.requests);
    }
  }

  await Promise.all(Array.from({ length: plan.concurrency }, sender));
  const seconds = Math.max(totals.last - measuredFrom, 0) / 1000;
  const { requests, answers, failed } = totals;
  return { seconds, requests, answers, latency, first, failed, failures };
}
