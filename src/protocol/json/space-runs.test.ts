import { expect, it } from 'vitest';

import { LONG_RUN_BYTES } from './json-scanner.js';
import { SpaceRuns } from './space-runs.js';

it.each([1, 1000, 70_000, Infinity])('finds exactly the long runs of white space, %d bytes at a time', (step) => {
  const text = Buffer.alloc(1_000_000, 'x');
  const long: [number, number][] = [
    [0, LONG_RUN_BYTES],
    [LONG_RUN_BYTES + 1, 2 * LONG_RUN_BYTES + 1],
    [300_000, 300_000 + LONG_RUN_BYTES + 7],
    [1_000_000 - LONG_RUN_BYTES, 1_000_000],
  ];
  const short: [number, number][] = [
    [200_000, 200_000 + LONG_RUN_BYTES - 1],
    [500_000, 500_001],
    [600_000, 640_000],
  ];
  for (const [start, end] of [...long, ...short]) text.fill('\n', start, end);
  const found = new SpaceRuns(text, 0, text.length);
  while (!found.advance(step));
  const ends = [...long, ...short]
    .sort(([a], [b]) => a - b)
    .map(([start, end]) => [start, end, found.endOfRun(start), found.endOfRun(end - 1)]);
  expect(ends).toEqual(
    [...long, ...short]
      .sort(([a], [b]) => a - b)
      .map(([start, end]) => {
        const isLong = end - start >= LONG_RUN_BYTES;
        return [start, end, isLong ? end : start, isLong ? end : end - 1];
      }),
  );
});
