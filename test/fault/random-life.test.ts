// A random life of a whole server, held against what is always true of it. Longer, or again: RANDOM_LIFE_STEPS, RANDOM_LIFE_SEED.
import { describe, expect, it } from 'vitest';

import { RandomLife } from '../support/random-life/random-life.js';

const STEPS = Number(process.env['RANDOM_LIFE_STEPS'] ?? 2500);
const SEED = Number(process.env['RANDOM_LIFE_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Far more than a life takes: what never ends is found, and named, long before. */
const TIMEOUT_MS = 120_000 + 20 * STEPS;

describe.each([{ serverThread: true }, { serverThread: false }])('a random life of a server with %o', (mode) => {
  it(
    `gives each request its own answer or an error that it deserves (RANDOM_LIFE_SEED=${SEED})`,
    async () => {
      const life = new RandomLife({ seed: SEED, steps: STEPS, ...mode });
      await life.run();
      expect(life.ledger.violations, `RANDOM_LIFE_SEED=${SEED}, ${JSON.stringify(life.deeds)}`).toEqual([]);
      const { sent, answered } = life.ledger.counts;
      expect(sent).toBeGreaterThanOrEqual(STEPS / 2);
      expect(answered / sent).toBeGreaterThan(0.3);
    },
    TIMEOUT_MS,
  );
});
