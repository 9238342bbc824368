import { beforeAll, describe, expect, it } from 'vitest';
import { replayBindFile, type Replays } from './replays.js';
import { told } from './recorded-answers.js';
import { summarize, totals } from './rules.js';

describe("what bind makes of its settings compared with PyTriton's", () => {
  let replays: Replays;

  beforeAll(async () => {
    replays = await replayBindFile();
  });

  it('agrees, under the rules', () => {
    expect(replays['model-config']?.cases).toBe(70);
    expect(summarize(replays['model-config'])).toBe('');
  });

  it('needs every one of the rules', () => {
    expect(totals(Object.values(replays)).filter(({ cases }) => cases === 0)).toEqual([]);
  });

  it('is told in docs/recorded-answers.md', () => {
    const { page, found } = told('`bind`', replays);
    expect(page).toBe(found);
  });
});
