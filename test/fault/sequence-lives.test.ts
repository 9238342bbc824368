// Random lives of sequences, in order and exactly once whatever happens. Longer, or again: SEQUENCE_LIVES_STEPS, TEST_SEED.
import { describe, expect, it } from 'vitest';

import { SEED } from '../support/seed.js';
import { SequenceLife } from '../support/sequence-lives/sequence-life.js';

const { SEQUENCE_LIVES_STEPS } = process.env;
/** Requests of one life. */
const STEPS = Number(SEQUENCE_LIVES_STEPS ?? 700);
/** Far more than a life takes: what never ends is found, and named, long before. */
const TIMEOUT_MS = 300_000 + 100 * STEPS;

describe.each([{ serverThread: true }, { serverThread: false }])(
  'the lives of sequences with %o',
  ({ serverThread }) => {
    it(
      `give each step the state of its own sequence, in order and once (TEST_SEED=${SEED})`,
      async () => {
        const life = new SequenceLife({ seed: SEED, steps: STEPS, serverThread });
        await life.run();
        expect(life.violations, `TEST_SEED=${SEED}, ${JSON.stringify(life.counts)}`).toEqual([]);
        expect(life.counts.answered).toBeGreaterThan(STEPS / 2);
      },
      TIMEOUT_MS,
    );
  },
);
