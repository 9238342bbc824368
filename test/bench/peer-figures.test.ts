// The pages that show figures of docs/benchmarks.md show those that stand there now.
import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { withPeerFigures } from '../../bench/page/peer-figures.js';
import { PAGES_WITH_FIGURES } from '../../bench/results-file.js';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const benchmarks = read('docs/benchmarks.md');

describe('figures of peers', () => {
  it.each(PAGES_WITH_FIGURES)('in %s are those of the benchmarks', async (path) => {
    const page = read(path);
    expect(page).toContain('<!-- figures: ');
    expect(await withPeerFigures(page, benchmarks)).toBe(page);
  });

  it('are the rates at 16 connections, in five rows of the README', () => {
    const [, table = ''] = /<!-- figures: peers -->\n\n((?:\|.*\n)+)/.exec(read('README.md'))!;
    expect(table.trim().split('\n').length).toBe(2 + 5);
    const [, rate] = /gRPC, 16 connections\n.*\n.*\nours, serverThread: true +(\d+)/.exec(
      benchmarks.slice(benchmarks.indexOf('\n## peers')),
    )!;
    expect(table).toContain(Number(rate).toLocaleString('en-US'));
  });

  it('follow the benchmarks when these change', async () => {
    const changed = benchmarks.replaceAll(/^(MLServer \S+ +)\d+/gm, '$1123456');
    expect(await withPeerFigures(read('README.md'), changed)).toContain('123,456');
  });

  it('refuse benchmarks without the suite', async () => {
    await expect(withPeerFigures('<!-- figures: peers -->\n', '# Benchmarks\n')).rejects.toThrow("no suite 'peers'");
  });
});
