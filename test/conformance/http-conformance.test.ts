import { describe, expect, it } from 'vitest';
import { MODES, replayHttpFile } from './replays.js';
import { shortcomings } from './unread-members.js';

describe('HTTP answers compared with the recorded ones of Triton', () => {
  describe.each(MODES)('%s', (mode) => {
    it.each([
      ['management', 1029],
      ['infer-json', 976],
      ['infer-binary', 251],
      ['generate', 195],
      ['compression', 92],
    ])('agree in %s, under the rules', async (file, cases) => {
      const replay = await replayHttpFile(file, mode);
      expect(replay.cases).toBe(cases);
      expect(shortcomings(file, replay)).toBe('');
    });
  });
});
