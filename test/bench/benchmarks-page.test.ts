// The page is made of canned runs: what it says must be theirs, and what was not run must be named.
import { format } from 'prettier';
import { describe, expect, it } from 'vitest';

import { asWantedToday, distanceOf, formatGoals, goalFor, verdictOf, type Goal } from '../../bench/goals.js';
import { benchmarksPage, type KeptRuns } from '../../bench/page/benchmarks-page.js';
import { goalsChart, scoreOf } from '../../bench/page/goals-chart.js';
import type { KeptRun } from '../../bench/results-file.js';

const FAST: Goal = { id: 'P1', what: 'req/s x floor', got: 8, bound: 'at least', target: 4, stretch: 7 };
const SLOW: Goal = { id: 'P8', what: 'peak <RSS> & more', got: 12, bound: 'at most', target: 6, stretch: 4 };
const FAIR: Goal = { id: 'P14', what: 'ms to ready', got: 70, bound: 'at most', target: 70, stretch: 40 };

const SUITES = [
  { name: 'identity', about: 'small requests' },
  { name: 'large', about: 'large tensors' },
  { name: 'growth', about: 'how cost grows' },
];

const run = (suite: string, more: Partial<KeptRun> = {}): KeptRun => ({
  suite,
  date: '2026-01-02T03:04:05Z',
  commit: 'abc123456',
  machine: { cpu: 'A processor', cores: 2, memoryBytes: 8 * 2 ** 30, platform: 'linux x64', node: 'v20.0.0' },
  timing: { rounds: 3, seconds: 1, warmUpSeconds: 1 },
  pinning: { note: 'each server pinned to core 0' },
  loadAverage: { before: [0.25, 0, 0], after: [1.5, 0, 0] },
  seconds: 42,
  errors: 0,
  report: 'a table\n-------\n1  2\n\nGoals\n  met  P1',
  goals: [],
  comparisons: [],
  ...more,
});

const kept = (...runs: readonly KeptRun[]): KeptRuns =>
  new Map(runs.map((one) => [one.suite, { path: `bench/results/${one.suite}.json`, run: one }]));

describe('the verdict on a figure', () => {
  it('is met at the bound, better at the stretch, and missed beyond', () => {
    expect([FAST, FAIR, SLOW].map(verdictOf)).toEqual(['better', 'met', 'MISSED']);
    expect(verdictOf({ ...FAST, got: 3.99 })).toBe('MISSED');
    expect(verdictOf({ ...FAST, got: NaN })).toBe('MISSED');
    expect(verdictOf({ id: '-', what: 'x', got: 0, bound: 'at most', target: 0 })).toBe('met');
  });

  it('is printed with the figure and what was wanted', () => {
    expect(formatGoals([FAST, SLOW]).split('\n')).toEqual([
      'Goals',
      '  better  P1    req/s x floor, at least 4, better 7: 8.00',
      '  MISSED  P8    peak <RSS> & more, at most 6, better 4: 12.0',
    ]);
    expect(formatGoals([])).toBe('Goals: none of them was measured in this run');
  });
});

describe('a goal', () => {
  it('is what is wanted today of what was measured', () => {
    expect(goalFor('P6', 'HTTP 1x1, serverThread: false: p50 x floor', 1.4)).toMatchObject({
      target: 1.3,
      stretch: 1.1,
    });
    expect(goalFor('P6', 'HTTP 1x1, serverThread: true: p50 x floor', 1.4)).toMatchObject({
      target: 1.8,
      stretch: 1.5,
    });
    expect(() => goalFor('P99', 'anything', 1)).toThrow("no target is named P99 and fits 'anything'");
  });

  it('of a kept run is judged by what is wanted today, where it is of the list of targets', () => {
    const weaker: Goal = { id: 'P13', what: 'us added', got: 40, bound: 'at most', target: 70, stretch: 30 };
    expect(asWantedToday(weaker)).toMatchObject({ got: 40, target: 35, stretch: 20 });
    const own: Goal = { id: 'part', what: 'socket: us', got: 5, bound: 'at most', target: 4 };
    expect(asWantedToday(own)).toBe(own);
  });

  it('tells how far it is from being met', () => {
    expect(distanceOf({ ...FAST, got: 3 })).toBe('75.0 % of it');
    expect(distanceOf(SLOW)).toBe('2.00 times it');
    expect(distanceOf({ ...SLOW, target: 0 })).toBe('12.0 more');
  });
});

describe('the page of benchmarks', () => {
  it('says how a suite measures that has rounds of its own', async () => {
    const own = [SUITES[0]!, { name: 'large', about: 'large tensors', rounds: 'once' }];
    const { 'benchmarks.md': page } = await benchmarksPage(own, kept(run('identity'), run('large')));
    const { rounds, seconds } = run('identity').timing;
    expect(page).toMatch(new RegExp(`\\[identity\\].*\\| ${rounds} of ${seconds} s +\\|`));
    expect(page).toMatch(/\[large\].*\| once +\|/);
  });

  it('begins with the missed goals and their distance', async () => {
    const runs = kept(run('identity', { goals: [FAST] }), run('large', { goals: [SLOW] }));
    const { 'benchmarks.md': page } = await benchmarksPage(SUITES, runs);
    const top = page!.slice(0, page!.indexOf('## Runs'));
    expect(top).toContain('1 of 2 goals are missed.');
    expect(top).toMatch(/\| P8 +\| peak <RSS> & more \| at most 6, better 4 \| 12.0 +\| 2.00 times it \| large/);
    expect(top).not.toContain('P1 ');
    const { 'benchmarks.md': met } = await benchmarksPage(SUITES, kept(run('identity', { goals: [FAST] })));
    expect(met).not.toContain('Missed goals');
  });

  it('warns of runs on a busy machine and of changed files', async () => {
    const busy = { before: [1.5, 0, 0], after: [1, 0, 0] };
    const runs = kept(run('identity', { loadAverage: busy }), run('large', { commit: 'abc123456+' }));
    const { 'benchmarks.md': page } = await benchmarksPage(SUITES, runs);
    expect(page).toMatch(/busy when these began\*\*, with a load average above 0.5: identity\./);
    expect(page).toContain('These are large.');
    expect((await benchmarksPage(SUITES, kept(run('growth'))))['benchmarks.md']).not.toContain('busy');
  });

  it('has machine, load, commit and tables of what was run, and names what was not', async () => {
    const files = await benchmarksPage(
      SUITES,
      kept(run('identity', { goals: [FAST] }), run('large', { goals: [SLOW] })),
    );
    const page = files['benchmarks.md']!;
    expect(page).toContain('A processor, 2 cores, 8 GiB, linux x64, Node v20.0.0; each server pinned to core 0.');
    expect(page).toMatch(
      /\[identity\]\(#identity\) +\| 2026-01-02 03:04:05 UTC \| 42 s +\| 3 of 1 s \| 0.25, 1.5 +\| abc123456/,
    );
    expect(page).toContain('- **growth**: how cost grows');
    expect(page).toContain('1 of 2 are met.');
    expect(page).toContain('```text\na table\n-------\n1  2\n```');
    expect(page).not.toContain('met  P1'); // the goals have their own table
    expect(page).toMatch(/\| P8 +\| peak <RSS> & more \| at most 6, better 4 +\| 12.0 +\| \*\*missed\*\* \| large/);
  });

  it('explains what is left between the goals and the runs', async () => {
    const explained = '## Where the rest goes\n\nTo the kernel.\n';
    const { 'benchmarks.md': page } = await benchmarksPage(SUITES, kept(run('large', { goals: [SLOW] })), explained);
    const titles = page!.split('\n').filter((line) => line.startsWith('#'));
    expect(titles).toEqual([
      '# Benchmarks',
      '## Missed goals',
      '## Runs',
      '## Goals',
      '## Where the rest goes',
      '## large',
    ]);
    expect(page).toContain('\nTo the kernel.\n');
  });

  it('is formatted as the other documents are', async () => {
    const { 'benchmarks.md': page } = await benchmarksPage(SUITES, kept(run('identity', { goals: [FAST] })));
    expect(await format(page!, { parser: 'markdown', printWidth: 120, singleQuote: true })).toBe(page);
  });

  it('says that nothing was run, and that a run had errors', async () => {
    expect((await benchmarksPage(SUITES, kept()))['benchmarks.md']).toContain('No suite has been run.');
    const { 'benchmarks.md': page } = await benchmarksPage(SUITES, kept(run('large', { errors: 3 })));
    expect(page).toContain('**3 errors: these figures are worth nothing.**');
  });

  it('tells machines apart when suites were run on several', async () => {
    const other = { ...run('large').machine, cpu: 'Another one' };
    const { 'benchmarks.md': page } = await benchmarksPage(
      SUITES,
      kept(run('identity'), run('large', { machine: other })),
    );
    expect(page).toContain('identity: A processor');
    expect(page).toContain('large: Another one');
  });
});

describe('the picture of the goals', () => {
  it('tells how much better than its goal a figure is, whichever way is better', () => {
    expect([FAST, SLOW, FAIR].map(scoreOf)).toEqual([2, 0.5, 1]);
    // The server's thread seemed to take nothing away, but to bring something.
    expect(scoreOf({ ...SLOW, got: -3 })).toBe(Infinity);
    expect(scoreOf({ ...SLOW, got: 0, target: 0 })).toBe(1);
  });

  it('has a bar right of the goal for what reaches it and left for what does not, equally long for twice and half', () => {
    const bars = goalsChart([FAST, SLOW]).matchAll(
      /<rect x="(?<x>[\d.]+)" y="\d+" width="(?<width>[\d.]+)" height="14"[^/]*fill="#[^/]*\/><text x="968"/g,
    );
    const [fast, slow] = Array.from(bars, ({ groups }) => [Number(groups!['x']), Number(groups!['width'])] as const);
    expect(slow![0] + slow![1]).toBeCloseTo(fast![0], 1);
    expect(slow![1]).toBeCloseTo(fast![1], 1);
  });

  it('is well-formed whatever the words', () => {
    const picture = goalsChart([SLOW, { ...FAST, got: Infinity }, { ...FAST, got: NaN }]);
    expect(picture).toContain('peak &lt;RSS&gt; &amp; more');
    expect(picture).not.toMatch(/NaN"|Infinity"/);
  });
});
