import { beforeAll, describe, expect, it } from 'vitest';
import { replayGrpcFiles, type Replays } from './replays.js';
import { told } from './recorded-answers.js';
import { summarize, totals } from './rules.js';

describe('gRPC answers compared with the recorded ones of Triton', () => {
  let replays: Replays;

  beforeAll(async () => {
    replays = await replayGrpcFiles();
  });

  it.each([
    ['infer', 535],
    ['management', 349],
    ['stream', 145],
  ])('agree in %s, under the rules', (file, cases) => {
    expect(replays[file]?.cases).toBe(cases);
    expect(summarize(replays[file])).toBe('');
  });

  it('need every one of the rules', () => {
    expect(totals(Object.values(replays)).filter(({ cases }) => cases === 0)).toEqual([]);
  });

  it('are told in docs/recorded-answers.md', () => {
    const { page, found } = told('gRPC', replays);
    expect(page).toBe(found);
  });
});
