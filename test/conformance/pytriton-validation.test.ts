import { beforeAll, describe, expect, it } from 'vitest';
import { replayValidationFile } from './pytriton-replays.js';
import { inBothModes, MODES, type ModeReplays } from './replays.js';
import { shortcomings } from './unread-members.js';

describe("what is made of callables' outputs compared with PyTriton's", () => {
  let replays: ModeReplays;

  beforeAll(async () => {
    replays = await inBothModes(replayValidationFile);
  });

  it.each(MODES)('agrees, under the rules, %s', (mode) => {
    const replay = replays[mode]['validation'];
    expect(replay?.cases).toBe(112);
    expect(shortcomings('validation', replay)).toBe('');
  });
});
