import { beforeAll, describe, expect, it } from 'vitest';
import { inBothModes, MODES, replayHttpFiles, type ModeReplays } from './replays.js';
import { shortcomings } from './unread-members.js';

describe('HTTP answers compared with the recorded ones of Triton', () => {
  let replays: ModeReplays;

  beforeAll(async () => {
    replays = await inBothModes(replayHttpFiles);
  });

  describe.each(MODES)('%s', (mode) => {
    it.each([
      ['management', 1029],
      ['infer-json', 976],
      ['infer-binary', 251],
      ['generate', 195],
      ['compression', 92],
    ])('agree in %s, under the rules', (file, cases) => {
      const replay = replays[mode][file];
      expect(replay?.cases).toBe(cases);
      expect(shortcomings(file, replay)).toBe('');
    });
  });
});
