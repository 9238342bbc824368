import { beforeAll, describe, expect, it } from 'vitest';
import { replayDecoratorFile } from './pytriton-replays.js';
import type { Replays } from './replays.js';
import { misstated, summarize, totals } from './rules.js';

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
    expect(misstated(totals(Object.values(replays)))).toEqual([]);
  });
});
