import { describe, expect, it } from 'vitest';

import { counter, gauge, histogram, type Metric, type SeriesUpdate } from '../../observability/metrics.js';
import { CustomMetrics } from './custom-metrics.js';

const tokens = counter({ name: 'tokens_total', help: 'Tokens.', labels: ['kind'] });
const level = gauge({ name: 'level', help: 'Level.' });
const sizes = histogram({ name: 'size_bytes', help: 'Sizes.', buckets: [1, 10] });

function apply(metrics: CustomMetrics, metric: Metric, series: readonly SeriesUpdate[]): void {
  // As it comes from another thread: equal, not the same.
  metrics.apply(structuredClone([{ metric, series }]));
}

function seen(metrics: CustomMetrics) {
  return metrics
    .list()
    .map(({ metric, series }) => [
      metric.name,
      ...[...series].map(({ labels, value, histogram: counted }) => [labels, counted?.counts ?? value, counted?.sum]),
    ]);
}

describe('the metrics of a model', () => {
  it('add up what the instances counted', () => {
    const metrics = new CustomMetrics();
    apply(metrics, tokens, [{ labels: ['a'], added: 2 }]);
    apply(metrics, tokens, [
      { labels: ['b'], added: 5 },
      { labels: ['a'], added: 1.5 },
    ]);
    apply(metrics, sizes, [{ labels: [], added: 12, counts: [1, 0, 1] }]);
    apply(metrics, sizes, [{ labels: [], added: 3, counts: [0, 1, 0] }]);
    expect(seen(metrics)).toEqual([
      ['tokens_total', [['a'], 3.5, undefined], [['b'], 5, undefined]],
      ['size_bytes', [[], [1, 1, 1], 15]],
    ]);
    expect([...metrics.problems]).toEqual([]);
  });

  it('have the last value that a gauge was set to, and what was added to it', () => {
    const metrics = new CustomMetrics();
    apply(metrics, level, [{ labels: [], added: 2 }]);
    apply(metrics, level, [{ labels: [], set: 10, added: -1 }]);
    apply(metrics, level, [{ labels: [], added: -4 }]);
    expect(seen(metrics)).toEqual([['level', [[], 5, undefined]]]);
  });

  it('have 0 when a gauge was set to that', () => {
    const metrics = new CustomMetrics();
    apply(metrics, level, [{ labels: [], set: 7, added: 0 }]);
    apply(metrics, level, [{ labels: [], set: 0, added: 0 }]);
    expect(seen(metrics)).toEqual([['level', [[], 0, undefined]]]);
  });

  it('keep to the first declaration of a name and tell of the others', () => {
    const metrics = new CustomMetrics();
    apply(metrics, level, [{ labels: [], added: 1 }]);
    for (const other of [
      counter({ name: 'level', help: 'Level.' }),
      gauge({ name: 'level', help: 'Another level.' }),
      gauge({ name: 'level', help: 'Level.', labels: ['x'] }),
    ]) {
      apply(metrics, other, [{ labels: ['x'], added: 1 }]);
    }
    expect(seen(metrics)).toEqual([['level', [[], 1, undefined]]]);
    expect([...metrics.problems]).toEqual(["metric 'level' is declared in two ways; only the first is shown"]);
  });

  it('do not grow without end', () => {
    const metrics = new CustomMetrics();
    apply(
      metrics,
      tokens,
      Array.from({ length: 10_001 }, (_, index) => ({ labels: [String(index)], added: 1 })),
    );
    expect([...metrics.list()[0]!.series]).toHaveLength(10_000);
    expect([...metrics.problems].join()).toContain('more than 10000 combinations of label values');
    apply(metrics, tokens, [{ labels: ['0'], added: 1 }]);
    expect([...metrics.list()[0]!.series][0]!.value).toBe(2);
  });
});
