import { beforeAll, describe, expect, it } from 'vitest';
import { replaySchedulerFile, type Replays } from './replays.js';
import { told } from './recorded-answers.js';
import { summarize, totals } from './rules.js';

describe("how requests are scheduled compared with Triton's", () => {
  let replays: Replays;

  beforeAll(async () => {
    replays = await replaySchedulerFile();
  });

  it('agrees, under the rules', () => {
    expect(replays['scenarios']?.cases).toBe(236);
    expect(summarize(replays['scenarios'])).toBe('');
  });

  it('needs every one of the rules', () => {
    expect(totals(Object.values(replays)).filter(({ cases }) => cases === 0)).toEqual([]);
  });

  it('is told in docs/recorded-answers.md', () => {
    const { page, found } = told('Scheduling', replays);
    expect(page).toBe(found);
  });
});
