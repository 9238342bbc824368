import { beforeAll, describe, expect, it } from 'vitest';
import { inBothModes, MODES, replayBindFile, type ModeReplays } from './replays.js';
import { shortcomings } from './unread-members.js';

describe("what bind makes of its settings compared with PyTriton's", () => {
  let replays: ModeReplays;

  beforeAll(async () => {
    replays = await inBothModes(replayBindFile);
  });

  it.each(MODES)('agrees, under the rules, %s', (mode) => {
    const replay = replays[mode]['model-config'];
    expect(replay?.cases).toBe(70);
    expect(shortcomings('model-config', replay)).toBe('');
  });
});
