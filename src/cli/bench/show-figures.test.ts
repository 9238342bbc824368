import { describe, expect, it } from 'vitest';

import { LatencyHistogram } from './latency-histogram.js';
import { duration, jsonFigures, showFigures, type MeasuredLoad } from './show-figures.js';

function measured(latencies: readonly number[], failures: ReadonlyMap<string, number> = new Map()): MeasuredLoad {
  const latency = new LatencyHistogram();
  for (const each of latencies) latency.add(each);
  const requests = latencies.length;
  const failed = [...failures.values()].reduce((sum, count) => sum + count, 0);
  const figures = { seconds: 2, requests, answers: requests, latency, first: new LatencyHistogram(), failed, failures };
  return { url: 'grpc://h:1', model: 'M', concurrency: 8, rows: 1, figures };
}

describe('the figures of a load', () => {
  it.each([
    [0.0123, '12.3 µs'],
    [1, '1.00 ms'],
    [12.34, '12.3 ms'],
    [123.4, '123 ms'],
    [1234, '1.23 s'],
  ])('have durations of three digits: %s ms', (milliseconds, text) => {
    expect(duration(milliseconds)).toBe(text);
  });

  it('are a table and a histogram in which all that is there is seen', () => {
    const text = showFigures(measured([...Array.from({ length: 3000 }, () => 1), 50]), (_, each) => each);
    expect(text).toContain('requests  3 001 in 2.0 s, 1 501/s');
    expect(text).toMatch(/p50 1.00 ms .* p99.9 1.00 ms {3}max 50.0 ms/);
    expect(text).toMatch(/– 50\.0 ms {2}▏ +0\.0 %\n$/);
    expect(text).toMatch(/1\.00 ms – .* █{40} +100\.0 %/);
  });

  it('say what failed, also when nothing else is there', () => {
    const text = showFigures(measured([], new Map([['full', 3]])), (_, each) => each);
    expect(text).toContain('failed    3\n            3 × full\n');
    expect(text).not.toContain('NaN');
    expect(JSON.stringify(jsonFigures(measured([], new Map([['full', 3]]))))).not.toContain('null');
  });

  it('are JSON', () => {
    expect(jsonFigures(measured([1, 2, 3]))).toMatchObject({
      requests: 3,
      requestsPerSecond: 1.5,
      latencyMs: { mean: 2, min: 1, max: 3 },
      failures: {},
    });
  });
});
