import { beforeAll, describe, expect, it } from 'vitest';
import { inOneModeAfterTheOther, MODES, replayGrpcFiles, type ModeReplays } from './replays.js';
import { shortcomings } from './unread-members.js';

describe('gRPC answers compared with the recorded ones of Triton', () => {
  let replays: ModeReplays;

  beforeAll(async () => {
    replays = await inOneModeAfterTheOther(replayGrpcFiles);
  });

  describe.each(MODES)('%s', (mode) => {
    it.each([
      ['infer', 535],
      ['management', 349],
      ['stream', 145],
    ])('agree in %s, under the rules', (file, cases) => {
      const replay = replays[mode][file];
      expect(replay?.cases).toBe(cases);
      expect(shortcomings(`grpc ${file}`, replay)).toBe('');
    });
  });
});
