// What the charts show: differences between the figures of one poll and of an earlier one.

import type { BucketsJson, FiguresJson, PageFiguresJson } from '../src/frontend/page/page-json.js';

/** Seconds of history that are kept. */
export const HISTORY = 120;
/** Seconds over which rates and percentiles are taken: fewer requests than a poll's make percentiles jump. */
const WINDOW = 5;

/** One moment of a model, or of all of them together. `NaN` and null: nothing happened that could be measured. */
export interface Point {
  /** Seconds since 1970, by the browser's clock. */
  readonly at: number;
  /** A second. */
  readonly requests: number;
  readonly failures: number;
  /** Milliseconds. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly queueP95: number | null;
  readonly waiting: number;
  readonly running: number;
  readonly rowsPerBatch: number | null;
  /** Of 1. */
  readonly cacheHits: number | null;
  readonly busy: number | null;
  readonly instances: number;
}

interface Poll {
  readonly at: number;
  readonly figures: PageFiguresJson;
}

/** Keeps the polls of the last minutes. */
export class History {
  #polls: Poll[] = [];

  add(figures: PageFiguresJson, at: number): void {
    const last = this.#polls.at(-1);
    // A server that was started anew counts from the beginning.
    if (last !== undefined && figures.now < last.figures.now) this.#polls = [];
    this.#polls.push({ at, figures });
    while (this.#polls.length > HISTORY + WINDOW) this.#polls.shift();
  }

  /** The points of the versions that `isWanted` says, added up. */
  points(isWanted: (figures: FiguresJson) => boolean): Point[] {
    return pointsOf(this.#polls, isWanted);
  }

  /** The latest of them; undefined before the second poll. */
  point(isWanted: (figures: FiguresJson) => boolean): Point | undefined {
    return pointsOf(this.#polls.slice(-WINDOW - 1), isWanted).at(-1);
  }
}

function pointsOf(polls: readonly Poll[], isWanted: (figures: FiguresJson) => boolean): Point[] {
  const sums = polls.map(({ at, figures }) => ({
    at,
    now: figures.now,
    sum: addUp(figures.versions.filter(isWanted)),
  }));
  return sums.flatMap((poll, index) => {
    const before = sums[Math.max(0, index - WINDOW)]!;
    return index === 0 ? [] : [pointOf(poll.at, poll.sum, before.sum, (poll.now - before.now) / 1000)];
  });
}

type Sum = Omit<FiguresJson, 'name' | 'version'>;

const NO_BUCKETS: BucketsJson = { bounds: [], counts: [] };
const NOTHING: Sum = {
  success: 0,
  fail: 0,
  refused: 0,
  pending: 0,
  inflight: 0,
  instances: 0,
  busyMs: 0,
  executions: 0,
  rows: 0,
  cacheHits: 0,
  cacheMisses: 0,
  latency: NO_BUCKETS,
  wait: NO_BUCKETS,
};

function addUp(versions: readonly FiguresJson[]): Sum {
  return versions.reduce<Sum>((sum, figures) => {
    const added = Object.entries(NOTHING).map(([key, zero]) => {
      const [a, b] = [sum[key as 'success'], figures[key as 'success']];
      return [key, typeof zero === 'number' ? a + b : merged(a as never, b as never)];
    });
    return Object.fromEntries(added) as Sum;
  }, NOTHING);
}

function merged(a: BucketsJson, b: BucketsJson): BucketsJson {
  return { bounds: b.bounds, counts: b.counts.map((count, index) => count + (a.counts[index] ?? 0)) };
}

/** A version that was loaded anew counts from the beginning, so differences below zero are none. */
function pointOf(at: number, now: Sum, before: Sum, seconds: number): Point {
  const grown = (
    key: 'success' | 'fail' | 'refused' | 'rows' | 'executions' | 'cacheHits' | 'cacheMisses' | 'busyMs',
  ) => Math.max(0, now[key] - before[key]);
  const latency = difference(now.latency, before.latency);
  const looked = grown('cacheHits') + grown('cacheMisses');
  return {
    at,
    requests: grown('success') / seconds,
    failures: (grown('fail') + grown('refused')) / seconds,
    p50: percentile(latency, 0.5),
    p95: percentile(latency, 0.95),
    p99: percentile(latency, 0.99),
    queueP95: percentile(difference(now.wait, before.wait), 0.95),
    waiting: now.pending,
    running: Math.max(0, now.inflight - now.pending),
    rowsPerBatch: grown('executions') === 0 ? null : grown('rows') / grown('executions'),
    cacheHits: looked === 0 ? null : grown('cacheHits') / looked,
    busy: now.instances === 0 ? null : Math.min(1, grown('busyMs') / 1000 / seconds / now.instances),
    instances: now.instances,
  };
}

function difference(now: BucketsJson, before: BucketsJson): BucketsJson {
  return {
    bounds: now.bounds,
    counts: now.counts.map((count, index) => Math.max(0, count - (before.counts[index] ?? 0))),
  };
}

/** In milliseconds, as Prometheus's histogram_quantile has it: values lie evenly in their bucket. Null without values. */
export function percentile({ bounds, counts }: BucketsJson, share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = share * total;
  let below = 0;
  for (const [index, count] of counts.entries()) {
    if (below + count >= rank && count > 0) {
      const from = bounds[index - 1] ?? 0;
      const to = bounds[index] ?? from;
      return 1000 * (from + ((to - from) * (rank - below)) / count);
    }
    below += count;
  }
  return 1000 * bounds.at(-1)!;
}
