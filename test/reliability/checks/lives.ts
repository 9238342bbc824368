// The lives of models, long: whatever binds, replaces, loads, unloads and crashes them, each opening ends once, after its last
// request, and every request ends as it should (R1, R2, R6).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';

import { deeds, FIRST_DEEDS, MODES } from '../../support/model-lives/deeds.js';
import { ModelLives } from '../../support/model-lives/model-lives.js';
import { repositoryAt } from '../../support/repository-folder.js';
import { atMost, memory, plain, type Check } from '../check.js';

const DEEDS = 120;
/** Code is compiled and caches fill in the first lives. */
const WARM_UP = 6;

function lives(serverThread: boolean): Check {
  return {
    about: `lives of models, serverThread: ${serverThread}`,
    async run({ seed, isFull }) {
      const events = isFull ? 100_000 : 10_000;
      const totals = { deeds: 0, requests: 0, answered: 0, sure: 0 };
      const heaps: number[] = [];
      const violations: string[] = [];
      let count = 0;
      while (totals.deeds + totals.requests < events && violations.length === 0) {
        const mode = MODES[count % MODES.length]!;
        const list = fc.array(deeds(fc, mode), { minLength: DEEDS, maxLength: DEEDS, size: 'max' });
        const all = [...FIRST_DEEDS, ...fc.sample(list, { seed: seed + count, numRuns: 1 })[0]!];
        const path = mkdtempSync(join(tmpdir(), 'tstriton-lives-'));
        const life = new ModelLives(all, { mode, serverThread, repository: repositoryAt(path) });
        try {
          await life.live(all);
        } finally {
          rmSync(path, { recursive: true, force: true });
        }
        for (const key of Object.keys(totals) as (keyof typeof totals)[]) totals[key] += life.counts[key];
        for (const violation of life.violations) {
          violations.push(violation);
          console.error(`life ${count} (${mode}, seed ${seed + count}): ${violation}`);
        }
        if (++count > WARM_UP) heaps.push((await memory()).heap / 1e6);
      }
      const grown = median(heaps.slice(-WARM_UP)) - median(heaps.slice(0, WARM_UP));
      return [
        plain('lives of servers', count),
        plain('what was done to models: bound, replaced, loaded, crashed …', totals.deeds),
        plain('requests beside that, of them answered', `${totals.requests}, ${totals.answered}`),
        plain('answered by a binding that was known beforehand', totals.sure),
        atMost('heap and buffers grew by, median of the last lives against the first', grown, 10, ' MB'),
        { what: 'violations', got: String(violations.length), wanted: '0', isMet: violations.length === 0 },
      ];
    },
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

export const livesWithThread = lives(true);
export const livesWithoutThread = lives(false);
