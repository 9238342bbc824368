import { beforeAll, describe, expect, it } from 'vitest';
import { replayBindFile, type Replays } from './replays.js';
import { misstated, summarize, totals } from './rules.js';

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
    expect(misstated(totals(Object.values(replays)))).toEqual([]);
  });
});
