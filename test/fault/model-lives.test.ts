// Random lives of models: what binds, replaces, loads, unloads and crashes them, in any order and at once, beside requests.
// Longer, or again: MODEL_LIVES_EVENTS, TEST_SEED. MODEL_LIVES_SHRINK=1 looks for the shortest list of deeds that fails.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { deeds, FIRST_DEEDS, MODES, type Deed } from '../support/model-lives/deeds.js';
import { ModelLives } from '../support/model-lives/model-lives.js';
import { modelRepository } from '../support/model-repository.js';
import { SEED } from '../support/seed.js';

const { MODEL_LIVES_EVENTS, MODEL_LIVES_SHRINK } = process.env;
/** Of one life; each deed comes with some four requests. */
const DEEDS = 120;
const EVENTS_OF_LIFE = 5 * DEEDS;
/** Deeds and requests of all lives together. */
const EVENTS = Number(MODEL_LIVES_EVENTS ?? 3600);
const LIVES = MODES.flatMap((mode) => [
  { mode, serverThread: true },
  { mode, serverThread: false },
]);
/** Far more than lives take: what never ends is found, and named, long before. */
const TIMEOUT_MS = 300_000 + 100 * EVENTS;

describe.each(LIVES)('the lives of models in mode $mode with serverThread: $serverThread', ({ mode, serverThread }) => {
  it(
    `keep to their table, and every request ends as it should (TEST_SEED=${SEED})`,
    async () => {
      const totals = { deeds: 0, requests: 0, answered: 0, sure: 0 };
      const list = fc.array(deeds(fc, mode), {
        minLength: MODEL_LIVES_SHRINK === undefined ? DEEDS : 1,
        maxLength: DEEDS,
        size: 'max',
      });
      const lives = fc.asyncProperty(list, async (generated: readonly Deed[]) => {
        const all = [...FIRST_DEEDS, ...generated];
        const life = new ModelLives(all, { mode, serverThread, repository: modelRepository() });
        await life.live(all);
        for (const key of Object.keys(totals) as (keyof typeof totals)[]) totals[key] += life.counts[key];
        expect(life.violations).toEqual([]);
      });
      const numRuns = Math.max(1, Math.round(EVENTS / LIVES.length / EVENTS_OF_LIFE));
      await fc.assert(lives, { numRuns, endOnFailure: MODEL_LIVES_SHRINK === undefined });
      expect(totals.answered).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
