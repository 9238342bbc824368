import { describe, expect, it } from 'vitest';

import type { FiguresJson } from '../src/frontend/page/page-json.js';
import { History, percentile } from './figures.js';

const BOUNDS = [0.001, 0.01, 0.1];

function figures(changed: Partial<FiguresJson> = {}): FiguresJson {
  const none = { bounds: BOUNDS, counts: [0, 0, 0, 0] };
  return {
    name: 'a', version: '1', success: 0, fail: 0, refused: 0, pending: 0, inflight: 0, instances: 1, busyMs: 0,
    executions: 0, rows: 0, cacheHits: 0, cacheMisses: 0, latency: none, wait: none, ...changed,
  }; // prettier-ignore
}

function historyOf(...polls: readonly (readonly [now: number, ...FiguresJson[]])[]): History {
  const history = new History();
  for (const [now, ...versions] of polls) history.add({ now, versions }, 1000 + now / 1000);
  return history;
}

describe('percentiles', () => {
  it('lie in their bucket as the values before them do', () => {
    const buckets = { bounds: BOUNDS, counts: [50, 40, 10, 0] };
    expect(
      [percentile(buckets, 0.25), percentile(buckets, 0.5), percentile(buckets, 0.9)].map((ms) => ms?.toFixed(3)),
    ).toEqual(['0.500', '1.000', '10.000']);
    expect(percentile(buckets, 0.99)).toBeCloseTo(91);
  });

  it('are unknown without values, and the last bound beyond it', () => {
    expect(percentile({ bounds: BOUNDS, counts: [0, 0, 0, 0] }, 0.5)).toBeNull();
    expect(percentile({ bounds: BOUNDS, counts: [0, 0, 0, 5] }, 0.5)).toBe(100);
  });
});

describe('the history', () => {
  it('has rates and ratios between polls, and what counts at the moment', () => {
    const history = historyOf(
      [0, figures()],
      [2000, figures({ success: 20, fail: 3, refused: 1, rows: 40, executions: 10, cacheHits: 3, cacheMisses: 1, busyMs: 500, pending: 2, inflight: 5, latency: { bounds: BOUNDS, counts: [20, 0, 0, 0] } })],
    ); // prettier-ignore
    expect(history.point(() => true)).toMatchObject({
      requests: 10, failures: 2, rowsPerBatch: 4, cacheHits: 0.75, busy: 0.25, waiting: 2, running: 3, p50: 0.5, queueP95: null,
    }); // prettier-ignore
  });

  it('adds up the models that are asked for', () => {
    const polls = [0, 1000].map(
      (now) => [now, figures({ success: now }), figures({ name: 'b', success: 2 * now, instances: 2 })] as const,
    );
    const history = historyOf(...polls);
    expect(history.point(() => true)).toMatchObject({ requests: 3000, instances: 3 });
    expect(history.point(({ name }) => name === 'b')).toMatchObject({ requests: 2000, instances: 2 });
    expect(history.point(() => false)).toMatchObject({ requests: 0, busy: null });
  });

  it('looks back over five seconds, and no further', () => {
    const polls = Array.from(
      { length: 10 },
      (_, i) => [i * 1000, figures({ success: i < 5 ? 100 * i : 400 })] as const,
    );
    const history = historyOf(...polls);
    expect(history.points(() => true).map(({ requests }) => requests)).toEqual([100, 100, 100, 100, 80, 60, 40, 20, 0]);
  });

  it('begins anew with a server that was started anew, and is never negative', () => {
    const history = historyOf(
      [5000, figures({ success: 50 })],
      [6000, figures({ success: 60 })],
      [10, figures()],
      [1010, figures({ success: 2 })],
    );
    expect(history.points(() => true).map(({ requests }) => requests)).toEqual([2]);
    const reloaded = historyOf([0, figures({ success: 50 })], [1000, figures({ success: 1 })]);
    expect(reloaded.point(() => true)?.requests).toBe(0);
  });

  it('keeps two minutes', () => {
    const history = historyOf(...Array.from({ length: 500 }, (_, i) => [i * 1000, figures()] as const));
    expect(history.points(() => true).length).toBe(124);
  });
});
