import { beforeAll, describe, expect, it } from 'vitest';
import { replayDecoratorFile } from './pytriton-replays.js';
import type { Replays } from './replays.js';
import { told } from './recorded-answers.js';
import { summarize, totals } from './rules.js';

describe("what decorators make of calls compared with PyTriton's", () => {
  let replays: Replays;

  beforeAll(async () => {
    replays = await replayDecoratorFile();
  });

  it('agrees, under the rules', () => {
    expect(replays['decorators']?.cases).toBe(166);
    expect(summarize(replays['decorators'])).toBe('');
  });

  it('needs every one of the rules', () => {
    expect(totals(Object.values(replays)).filter(({ cases }) => cases === 0)).toEqual([]);
  });

  it('is told in docs/recorded-answers.md', () => {
    const { page, found } = told('Decorators', replays);
    expect(page).toBe(found);
  });
});
