import { describe, expect, it } from 'vitest';

import { Histogram } from '../../core/metrics/histogram.js';
import { prometheusText } from './prometheus-text.js';

describe("Prometheus' text", () => {
  it('has help and type, then the series', () => {
    const text = prometheusText([
      { name: 'requests', help: 'All of them.', type: 'counter', series: [{ labels: [['model', 'm']], value: 3 }] },
      { name: 'load', help: 'Now.', type: 'gauge', series: [{ labels: [], value: 0.25 }] },
    ]);
    expect(text).toBe(`# HELP requests All of them.
# TYPE requests counter
requests{model="m"} 3
# HELP load Now.
# TYPE load gauge
load 0.25
`);
  });

  it('leaves families without series out', () => {
    expect(prometheusText([{ name: 'none', help: 'None.', type: 'gauge', series: [] }])).toBe('');
  });

  it('escapes labels and help texts', () => {
    const series = [{ labels: [['path', 'a"\\\nb']] as const, value: 1 }];
    expect(prometheusText([{ name: 'x', help: 'Back\\slash,\nnew line, "quotes".', type: 'gauge', series }])).toBe(
      '# HELP x Back\\\\slash,\\nnew line, "quotes".\n# TYPE x gauge\nx{path="a\\"\\\\\\nb"} 1\n',
    );
  });

  it.each<[number, string]>([
    [NaN, 'NaN'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
    [1e21, '1e+21'],
    [1e-7, '1e-7'],
    [-3, '-3'],
    [4294967296, '4294967296'],
  ])('writes %d as %s', (value, written) => {
    const text = prometheusText([{ name: 'x', help: 'X.', type: 'gauge', series: [{ labels: [], value }] }]);
    expect(text.split('\n')[2]).toBe(`x ${written}`);
  });

  it('writes histograms with cumulative buckets up to all', () => {
    const histogram = new Histogram([0.1, 2]);
    for (const value of [0.05, 1, 1.5, 3]) histogram.observe(value);
    const series = [{ labels: [['model', 'm']] as const, histogram }];
    expect(prometheusText([{ name: 'h', help: 'H.', type: 'histogram', series }])).toBe(`# HELP h H.
# TYPE h histogram
h_count{model="m"} 4
h_sum{model="m"} 5.55
h_bucket{model="m",le="0.1"} 1
h_bucket{model="m",le="2"} 3
h_bucket{model="m",le="+Inf"} 4
`);
  });

  it('writes summaries with their quantiles behind the other labels', () => {
    const quantiles = [[0.5, 10], [0.99, NaN]] as const; // prettier-ignore
    const series = [
      { labels: [['model', 'm']] as const, count: 2, sum: 20, quantiles },
      { labels: [], count: 0, sum: 0, quantiles: [] },
    ];
    expect(prometheusText([{ name: 's', help: 'S.', type: 'summary', series }])).toBe(`# HELP s S.
# TYPE s summary
s_count{model="m"} 2
s_sum{model="m"} 20
s{model="m",quantile="0.5"} 10
s{model="m",quantile="0.99"} NaN
s_count 0
s_sum 0
`);
  });
});
