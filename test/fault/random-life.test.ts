// A random life of a whole server, held against what is always true of it. Longer, or again: RANDOM_LIFE_STEPS, RANDOM_LIFE_SEED.
import { describe, expect, it } from 'vitest';

import { RandomLife } from '../support/random-life/random-life.js';

const { RANDOM_LIFE_STEPS, RANDOM_LIFE_SEED, TEST_SEED } = process.env;
const STEPS = Number(RANDOM_LIFE_STEPS ?? 2500);
/** Undefined: those that each life has of its own. */
const GIVEN_SEED = RANDOM_LIFE_SEED ?? TEST_SEED ?? (RANDOM_LIFE_STEPS && Math.floor(Math.random() * 2 ** 31));
const LIVES = [
  // With an even seed a stop waits for what is under way, with an odd one for nobody.
  { serverThread: true, seed: 2 },
  { serverThread: false, seed: 3 },
].map((life) => ({ ...life, seed: Number(GIVEN_SEED ?? life.seed) }));
/** Far more than a life takes: what never ends is found, and named, long before. */
const TIMEOUT_MS = 300_000 + 100 * STEPS;

describe.each(LIVES)('a random life of a server with serverThread: $serverThread', ({ serverThread, seed }) => {
  it(
    `gives each request its own answer or an error that it deserves (RANDOM_LIFE_SEED=${seed})`,
    async () => {
      const life = new RandomLife({ seed, steps: STEPS, serverThread });
      await life.run();
      expect(life.ledger.violations, `RANDOM_LIFE_SEED=${seed}, ${JSON.stringify(life.deeds)}`).toEqual([]);
      expect(life.ledger.counts.sent).toBeGreaterThanOrEqual(STEPS / 2);
      // However slow the machine is: what has no limit of time is answered.
      expect(life.ledger.unanswered(['Impatient', 'Levels'])).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
