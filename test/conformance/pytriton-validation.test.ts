import { beforeAll, describe, expect, it } from 'vitest';
import { replayValidationFile } from './pytriton-replays.js';
import type { Replays } from './replays.js';
import { misstated, summarize, totals } from './rules.js';

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
    expect(misstated(totals(Object.values(replays)))).toEqual([]);
  });
});
