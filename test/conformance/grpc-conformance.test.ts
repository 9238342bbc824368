import { beforeAll, describe, expect, it } from 'vitest';
import { replayGrpcFiles, type Replays } from './replays.js';
import { misstated, summarize, totals } from './rules.js';

describe('gRPC answers compared with the recorded ones of Triton', () => {
  let replays: Replays;

  beforeAll(async () => {
    replays = await replayGrpcFiles({ serverThread: false });
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
    expect(misstated(totals(Object.values(replays)))).toEqual([]);
  });
});
