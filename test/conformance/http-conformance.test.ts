import { beforeAll, describe, expect, it } from 'vitest';
import { replayHttpFiles, type Replays } from './replays.js';
import { summarize, totals, misstated } from './rules.js';

describe('HTTP answers compared with the recorded ones of Triton', () => {
  let replays: Replays;

  beforeAll(async () => {
    replays = await replayHttpFiles({ serverThread: false });
  });

  it.each([
    ['management', 1029],
    ['infer-json', 976],
    ['infer-binary', 251],
    ['generate', 195],
    ['compression', 92],
  ])('agree in %s, under the rules', (file, cases) => {
    expect(replays[file]?.cases).toBe(cases);
    expect(summarize(replays[file])).toBe('');
  });

  it('need every one of the rules', () => {
    expect(misstated(totals(Object.values(replays)))).toEqual([]);
  });
});
