import { describe, expect, it } from 'vitest';

import { counter, gauge, histogram } from '../observability/metrics.js';
import { MetricsRecorder } from './metrics-recorder.js';

const tokens = counter({ name: 'tokens_total', help: 'Tokens.', labels: ['kind', 'zone'] });
const level = gauge({ name: 'level', help: 'Level.' });
const sizes = histogram({ name: 'size_bytes', help: 'Sizes.', buckets: [1, 10] });

describe('what a callable records', () => {
  it('is taken once, and nothing is there when nothing was recorded', () => {
    const recorder = new MetricsRecorder();
    expect(recorder.take()).toBeUndefined();
    recorder.add(level, 1);
    expect(recorder.take()).toEqual([{ metric: level, series: [{ labels: [], added: 1 }] }]);
    expect(recorder.take()).toBeUndefined();
  });

  it('is one entry per metric and labels, in the order of the declaration', () => {
    const recorder = new MetricsRecorder();
    recorder.add(tokens, 2, { zone: 'eu', kind: 'a' });
    recorder.add(tokens, 3, { kind: 'a', zone: 'eu' });
    recorder.add(tokens, 0, { kind: 'eu', zone: 'a' });
    expect(recorder.take()).toEqual([
      {
        metric: tokens,
        series: [
          { labels: ['a', 'eu'], added: 5 },
          { labels: ['eu', 'a'], added: 0 },
        ],
      },
    ]);
  });

  it('of a gauge is the last value it was set to, and what was added since', () => {
    const recorder = new MetricsRecorder();
    recorder.add(level, 5);
    recorder.set(level, 2);
    recorder.set(level, 3);
    recorder.add(level, -1);
    expect(recorder.take()).toEqual([{ metric: level, series: [{ labels: [], set: 3, added: -1 }] }]);
  });

  it('of a histogram is counted in its buckets', () => {
    const recorder = new MetricsRecorder();
    for (const value of [0, 1, 5, 10, 11]) recorder.observe(sizes, value);
    expect(recorder.take()).toEqual([{ metric: sizes, series: [{ labels: [], added: 27, counts: [2, 2, 1] }] }]);
  });

  it('crosses threads', () => {
    const recorder = new MetricsRecorder();
    recorder.observe(sizes, 5);
    recorder.set(level, NaN);
    const update = recorder.take();
    expect(structuredClone(update)).toEqual(update);
  });

  it.each<[string, (recorder: MetricsRecorder) => void, string]>([
    [
      'a counter that goes down',
      (r) => r.add(tokens, -1, { kind: 'a', zone: 'b' }),
      "counter 'tokens_total' can be added a finite number >= 0 only, got -1",
    ],
    [
      'an amount that is no number',
      (r) => r.add(level, Infinity),
      "gauge 'level' can be added a finite number only, got Infinity",
    ],
    [
      'a value that is no number',
      (r) => r.observe(sizes, NaN),
      "histogram 'size_bytes' takes finite numbers only, got NaN",
    ],
    [
      'an amount that is text',
      (r) => r.add(level, '3' as never),
      `gauge 'level' can be added a finite number only, got "3"`,
    ],
    [
      'a value that is text',
      (r) => r.observe(sizes, '3' as never),
      `histogram 'size_bytes' takes finite numbers only, got "3"`,
    ],
    ['a gauge set to text', (r) => r.set(level, '3' as never), "gauge 'level' must be set to a number, got string"],
    [
      'a counter that is set',
      (r) => r.set(tokens as never, 1),
      "'tokens_total' is a counter and cannot be set, expected a gauge",
    ],
    [
      'a gauge that is observed',
      (r) => r.observe(level as never, 1),
      "'level' is a gauge and cannot be observed, expected a histogram",
    ],
    [
      'a histogram that is added to',
      (r) => r.add(sizes as never, 1),
      "'size_bytes' is a histogram and cannot be added to, expected a counter or gauge",
    ],
    [
      'a label that is missing',
      (r) => r.add(tokens, 1, { kind: 'a' } as never),
      "metric 'tokens_total' has the labels [kind, zone] with string values, got [kind]",
    ],
    ['a label too many', (r) => r.add(tokens, 1, { kind: 'a', zone: 'b', x: 'c' } as never), 'got [kind, zone, x]'],
    [
      'a label that is a number',
      (r) => r.add(tokens, 1, { kind: 'a', zone: 3 } as never),
      'got [kind, zone of type number]',
    ],
  ])('is refused: %s', (_, record, message) => {
    const recorder = new MetricsRecorder();
    expect(() => record(recorder)).toThrow(
      expect.objectContaining({ code: 'INTERNAL', message: expect.stringContaining(message) as string }),
    );
    expect(recorder.take()).toBeUndefined();
  });
});
