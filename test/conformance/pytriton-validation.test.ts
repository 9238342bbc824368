import { beforeAll, describe, expect, it } from 'vitest';
import { replayValidationFile } from './pytriton-replays.js';
import type { Replays } from './replays.js';
import { told } from './recorded-answers.js';
import { summarize, totals } from './rules.js';

describe("what is made of callables' outputs compared with PyTriton's", () => {
  let replays: Replays;

  beforeAll(async () => {
    replays = await replayValidationFile();
  });

  it('agrees, under the rules', () => {
    expect(replays['validation']?.cases).toBe(112);
    expect(summarize(replays['validation'])).toBe('');
  });

  it('needs every one of the rules', () => {
    expect(totals(Object.values(replays)).filter(({ cases }) => cases === 0)).toEqual([]);
  });

  it('is told in docs/recorded-answers.md', () => {
    const { page, found } = told('Outputs', replays);
    expect(page).toBe(found);
  });
});
