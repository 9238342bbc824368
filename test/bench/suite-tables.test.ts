// Tables and goals of the suites, from canned samples.
import { describe, expect, it } from 'vitest';

import { formatComparison, type Comparison } from '../../bench/comparison.js';
import type { RoundSample } from '../../bench/interleaved.js';
import { growthOf } from '../../bench/growth-model.js';
import { peerGoals } from '../../bench/peers/peer-goals.js';
import { descendants, parseStat } from '../../bench/peers/process-tree.js';
import { formatSeries, growthGoals, type GrowthRow } from '../../bench/suites/growth.js';
import { formatRow } from '../../bench/suites/large.js';
import { formatParts } from '../../bench/suites/parts.js';

const sample = (more: Partial<RoundSample> = {}): RoundSample => ({
  round: 0,
  requests: 1000,
  seconds: 1,
  requestsPerSecond: 1000,
  p50: 100,
  p90: 200,
  p99: 300,
  p999: 400,
  max: 500,
  serverCpuPerRequest: 50,
  serverBusy: 1,
  clientCpuPerRequest: 5,
  clientBusy: 0.5,
  serverRss: 1e8,
  errors: 0,
  loadAverage: [0, 0, 0],
  ...more,
});

describe('growth', () => {
  const points = (cost: (size: number) => number) => [1, 8, 64].map((size) => ({ size, cost: cost(size) }));

  it.each([
    ['nothing', () => 5, [0, 0], false],
    ['a part in proportion', (size: number) => 10 + size, [0.24, 0.68], false],
    ['proportion', (size: number) => 3 * size, [1, 1], false],
    ['the square', (size: number) => size ** 2, [2, 2], true],
    ['a cube that shows only at the end', (size: number) => 2000 + size ** 3, [0.11, 2.24], true],
  ])('is told from measured costs: %s', (_, cost, exponents, isWorseThanLinear) => {
    const growth = growthOf(points(cost));
    expect(growth.exponents.map((exponent) => Math.round(exponent * 100) / 100)).toEqual(exponents);
    expect(growth.isWorseThanLinear).toBe(isWorseThanLinear);
    expect(growth.sizeFactor).toBe(64);
  });

  const row = (more: Partial<GrowthRow>): GrowthRow => ({
    series: 'tensors',
    server: 'thread',
    size: 1,
    cpu: 20,
    p50: 100,
    requestsPerSecond: 1000,
    resident: 8e7,
    batch: 1,
    startMilliseconds: 50,
    ...more,
  });

  it('is shown with the cost of each tensor, and with a verdict', () => {
    const rows = [row({}), row({ size: 64, cpu: 212 })];
    const [title, , , first, last] = formatSeries(rows).split('\n');
    expect(title).toBe(
      'tensors a request, serverThread: true: a request costs 10.6 x as much with 64.0 x as many, linear or better',
    );
    expect(first!.trim().split(/ +/)).toEqual(['1', '1000', '100', '20.0', '20.0', '1.00', '80', '50.0']);
    expect(last!.trim().split(/ +/)).toEqual(['64', '1000', '100', '212', '3.31', '0.57', '1.00', '80', '50.0']);
  });

  it('counts a whole batch where rows grow, and is worse than linear when a row gets dearer', () => {
    const rows = [row({ series: 'rows' }), row({ series: 'rows', size: 8, cpu: 80 })];
    expect(formatSeries(rows)).toContain('a batch costs 32.0 x as much with 8.00 x as many, WORSE THAN LINEAR');
    const [goal] = growthGoals(rows);
    expect(goal).toMatchObject({ id: 'P16', bound: 'at most', target: 1.2 });
    expect(goal!.got).toBeCloseTo(5 / 3, 5);
  });
});

describe('large tensors', () => {
  it('are shown with CPU beside the floor and with the peak in payloads', () => {
    const comparison: Comparison = {
      id: 'http-echo 16 MB',
      title: '16 MB, HTTP binary, in and out',
      connections: 1,
      measured: [
        { server: 'floor', title: 'floor', samples: [sample({ serverCpuPerRequest: 8000 })] },
        { server: 'thread', title: 'ours', samples: [sample({ serverCpuPerRequest: 12_000, firstError: 'lost' })] },
      ],
    };
    const peaks = [5e7, 6 * (16 << 20)].map((peak) => ({
      id: comparison.id,
      server: 'thread' as const,
      idle: 4e7,
      peak,
    }));
    const lines = formatRow(comparison, peaks).split('\n');
    expect(lines[4]!.split(/ {2,}/)).toEqual('ours|1000|0.100|0.300|12.0|1.50 (1.50-1.50)|40|101|6.00'.split('|'));
    expect(lines.at(-1)).toBe('ERROR: lost');
  });
});

describe('parts', () => {
  it('are shown beside what they may cost, and as lost where a difference is no figure', () => {
    const part = { row: 'hop', part: 'hop', budget: 3 } as const;
    const text = formatParts([
      { ...part, title: 'hop', costs: [2, 4, 3] },
      { ...part, title: 'lost hop', costs: [-1, -2, 1] },
    ]);
    expect(text.split('\n')[3]!.split(/ {2,}/)).toEqual(['hop', '3.00', '2.00', '4.00', '3.00']);
    expect(text).toContain("note: 'lost hop' was lost in the noise of this machine: no figure");
    expect(text).not.toContain("'hop' was lost");
  });
});

describe('the comparison with other servers', () => {
  const rates = (ours: readonly number[], theirs: readonly number[]): Comparison => ({
    id: 'grpc 16x1',
    title: 'gRPC, 16 connections',
    connections: 16,
    base: 'ours',
    measured: [
      { server: 'thread', title: 'ours', samples: ours.map((requestsPerSecond) => sample({ requestsPerSecond })) },
      {
        server: 'pytriton',
        title: 'PyTriton',
        samples: theirs.map((requestsPerSecond) => sample({ requestsPerSecond })),
      },
    ],
  });

  it('pairs rounds, and leaves out what was not measured', () => {
    const goals = peerGoals([rates([2000, 200, 4000], [100, 10, 100])], { grpc: 'gRPC' });
    expect(goals.map(({ id, what, got, bound, target }) => [id, what, got, bound, target])).toEqual([
      ['P15', 'gRPC 16x1: req/s x PyTriton', 20, 'at least', 25],
      ['P15', 'gRPC 16x1: CPU a request x PyTriton', 1, 'at most', 1 / 25],
    ]);
    expect(peerGoals([], {})).toEqual([]);
  });

  it('names in its table what the ratios are to', () => {
    expect(formatComparison(rates([1000], [100]))).toMatch(/x ours \(min-max\).*\n.*\n.*\nPyTriton +100 +0\.100/);
  });
});

describe('a tree of processes', () => {
  it('is read whatever a process is called', () => {
    const stat =
      '42 (a) name (b)) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 9 9 20 0 5 0 777 123456 300 18446744073709551615';
    expect(parseStat(stat)).toEqual({ pid: 42, parent: 7, startedAt: '777', cpu: 200, rssPages: 300 });
  });

  it('has all that descend from its root, in whatever order they are listed', () => {
    const family = [
      { pid: 9, parent: 8 },
      { pid: 8, parent: 5 },
      { pid: 5, parent: 1 },
      { pid: 6, parent: 1 },
    ];
    expect(descendants(5, family).map(({ pid }) => pid)).toEqual([9, 8, 5]);
  });
});
