import { beforeAll, describe, expect, it } from 'vitest';

import { replayLifecycleFiles } from './pytriton-replays.js';
import { told } from './recorded-answers.js';
import type { Replays } from './replays.js';
import { summarize } from './rules.js';

describe("the life cycle and errors of callables compared with PyTriton's", () => {
  let replays: Replays;

  beforeAll(async () => {
    replays = await replayLifecycleFiles();
  });

  it.each([
    ['lifecycle', 137],
    ['errors', 28],
  ])('agree in %s, under the rules', (file, cases) => {
    expect(replays[file]?.cases).toBe(cases);
    expect(summarize(replays[file])).toBe('');
  });

  it.each(['lifecycle', 'errors'])('need every one of the rules for %s', (file) => {
    expect(replays[file]?.rules.filter((rule) => rule.cases === 0)).toEqual([]);
  });

  it('are told in docs/recorded-answers.md', () => {
    const { page, found } = told('Life cycle', replays);
    expect(page).toBe(found);
  });
});
