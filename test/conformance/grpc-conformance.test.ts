import { describe, expect, it } from 'vitest';
import { MODES, replayGrpcFile } from './replays.js';
import { shortcomings } from './unread-members.js';

describe('gRPC answers compared with the recorded ones of Triton', () => {
  describe.each(MODES)('%s', (mode) => {
    it.each([
      ['infer', 535],
      ['management', 349],
      ['stream', 145],
    ])('agree in %s, under the rules', async (file, cases) => {
      const replay = await replayGrpcFile(file, mode);
      expect(replay.cases).toBe(cases);
      expect(shortcomings(`grpc ${file}`, replay)).toBe('');
    });
  });
});
