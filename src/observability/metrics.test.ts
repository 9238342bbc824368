import { describe, expect, it } from 'vitest';

import { counter, gauge, histogram } from './metrics.js';

describe('a declaration of a metric', () => {
  it('is plain data', () => {
    expect(counter({ name: 'a_total', help: 'A.' })).toEqual({
      kind: 'counter',
      name: 'a_total',
      help: 'A.',
      labels: [],
    });
    expect(gauge({ name: 'b', help: 'B.', labels: ['x'] })).toEqual({
      kind: 'gauge',
      name: 'b',
      help: 'B.',
      labels: ['x'],
    });
    expect(histogram({ name: 'c_rows', help: 'C.', buckets: [1, 2] })).toEqual({
      kind: 'histogram',
      name: 'c_rows',
      help: 'C.',
      labels: [],
      buckets: [1, 2],
    });
  });

  it('of a histogram has buckets for durations in seconds by default', () => {
    expect(histogram({ name: 'c_seconds', help: 'C.' }).buckets).toEqual([
      0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]);
  });

  it.each<[string, () => unknown, string]>([
    ['no name', () => counter({ name: '', help: 'X.' }), 'letters, digits, underscores and colons, got ""'],
    ['a name that Prometheus does not know', () => gauge({ name: 'my-gauge', help: 'X.' }), 'got "my-gauge"'],
    [
      "a name of Triton's",
      () => counter({ name: 'nv_x_total', help: 'X.' }),
      "metric 'nv_x_total' must not begin with nv_ or tstriton_",
    ],
    [
      "a name of the server's",
      () => counter({ name: 'tstriton_x', help: 'X.' }),
      "metric 'tstriton_x' must not begin with nv_ or tstriton_",
    ],
    ['no help', () => counter({ name: 'x', help: '' }), "metric 'x' needs a help text"],
    ['a label that Prometheus does not know', () => counter({ name: 'x', help: 'X.', labels: ['a b'] }), 'got "a b"'],
    ["a label of Prometheus' own", () => counter({ name: 'x', help: 'X.', labels: ['__name__'] }), 'got "__name__"'],
    [
      "a label of the server's",
      () => counter({ name: 'x', help: 'X.', labels: ['model'] }),
      "metric 'x' must not have a label 'model'",
    ],
    [
      'a label of buckets',
      () => histogram({ name: 'x', help: 'X.', labels: ['le'] }),
      "metric 'x' must not have a label 'le'",
    ],
    [
      'a label twice',
      () => counter({ name: 'x', help: 'X.', labels: ['a', 'a'] }),
      "metric 'x' has the label 'a' twice",
    ],
    [
      'no buckets',
      () => histogram({ name: 'x', help: 'X.', buckets: [] }),
      "the buckets of metric 'x' must be finite numbers in ascending order, got []",
    ],
    ['buckets that do not ascend', () => histogram({ name: 'x', help: 'X.', buckets: [1, 1] }), 'got [1, 1]'],
    ['an infinite bucket', () => histogram({ name: 'x', help: 'X.', buckets: [1, Infinity] }), 'got [1, Infinity]'],
  ])('is refused with %s', (_, declare, message) => {
    expect(declare).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining(message) as string }),
    );
  });
});
