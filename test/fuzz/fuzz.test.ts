// The short form of `npm run fuzz`: the first seeds of every decoder, and the inputs that were found to be read wrongly once.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { SEED } from '../support/seed.js';
import { fuzz, inputOf } from './fuzz-target.js';
import { FUZZED_TESTS, TARGETS } from './targets.js';

const RUNS = 2000;
const FOUND = new URL('found/', import.meta.url);

describe.each(Object.entries(TARGETS))('%s', (name, target) => {
  it(`reads ${RUNS} inputs, right and spoilt, as others do (npm run fuzz ${name} --seed ${SEED})`, () => {
    const { runs, accepted } = fuzz(target, SEED, RUNS);
    expect(runs).toBe(RUNS);
    // Neither is everything refused, nor anything taken.
    expect(accepted).toBeGreaterThan(RUNS / 20);
    expect(accepted).toBeLessThan(RUNS);
  });

  it('has the same inputs for the same seeds', () => {
    expect(inputOf(target, SEED).equals(inputOf(target, SEED))).toBe(true);
  });
});

// Where somebody reads it otherwise: ours was right, or was mended.
describe('what was found', () => {
  const found = readdirSync(FOUND).filter((file) => file.endsWith('.hex'));

  it.each(found)('stays mended: %s', (file) => {
    const [name] = file.split('.');
    const hex = readFileSync(new URL(file, FOUND), 'utf8').replaceAll(/\s/g, '');
    expect(() => TARGETS[name!]!.check(Buffer.from(hex, 'hex'))).not.toThrow();
  });
});

it.each(Object.entries(FUZZED_TESTS))('%s is a test that can be made long', (_, { file, runs, seed }) => {
  const test = new URL(`../../${file}`, import.meta.url);
  const whole = readFileSync(test, 'utf8');
  // It may have them of a module that it shares with others.
  const shared = [...whole.matchAll(/from '([./]+test\/support\/[^']+)\.js'/g)];
  const text = [whole, ...shared.map(([, path]) => readFileSync(new URL(`${path}.ts`, test), 'utf8'))].join();
  expect(text).toContain(runs);
  expect(text).toContain(seed);
});
