import { expect, it } from 'vitest';

import { generationOptions } from './generation-request.js';

const { signal } = new AbortController();
const seedOf = (json: string) => generationOptions(`{"seed":${json}}`, signal).seed;

it('takes seeds of 64 bits, as clients make them', () => {
  expect(['7', '-7', '9223372036854775807', '-9223372036854775808'].map(seedOf)).toEqual([7, -7, 2 ** 63, -(2 ** 63)]);
});

it.each(['1e20', '0.5', '"7"'])('refuses %s for a seed', (json) => {
  expect(() => seedOf(json)).toThrow(/^'seed' must be /);
});
