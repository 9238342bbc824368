// `npm test` does the same each time: nothing in it is left to another chance than that of the seed.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import fc from 'fast-check';
import { expect, it } from 'vitest';

import { SEED } from './support/seed.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

it('properties are tried with the seed of the run', () => {
  expect(fc.readConfigureGlobal()).toEqual({ seed: SEED });
  const draw = () => fc.sample(fc.integer(), 3);
  expect(draw()).toEqual(draw());
});

it('tests draw no numbers of their own, but for a long life and what draws a seed to print it', () => {
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  const tests = files.filter((path) => /\.test\.ts$|^test\/.*\.[jt]s$/.test(path));
  const drawing = tests.filter((path) => /Math\.random\(\)/.test(readFileSync(`${ROOT}/${path}`, 'utf8')));
  expect(drawing.toSorted()).toEqual(['test/fault/random-life.test.ts', 'test/fuzz/run.ts', 'test/reliability/run.ts']);
});
