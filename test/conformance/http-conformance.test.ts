import { beforeAll, describe, expect, it } from 'vitest';
import { replayHttpFiles, type Replays } from './replays.js';
import { told } from './recorded-answers.js';
import { summarize, totals } from './rules.js';

describe('HTTP answers compared with the recorded ones of Triton', () => {
  let replays: Replays;

  beforeAll(async () => {
    replays = await replayHttpFiles();
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
    expect(totals(Object.values(replays)).filter(({ cases }) => cases === 0)).toEqual([]);
  });

  it('are told in docs/recorded-answers.md', () => {
    const { page, found } = told('HTTP', replays);
    expect(page).toBe(found);
  });
});
