import { beforeAll, describe, expect, it } from 'vitest';
import { replayClientFile } from './pytriton-replays.js';
import { inBothModes, MODES, type ModeReplays } from './replays.js';
import { shortcomings } from './unread-members.js';

describe("our client compared with PyTriton's five", () => {
  let replays: ModeReplays;

  beforeAll(async () => {
    replays = await inBothModes(replayClientFile);
  });

  it.each(MODES)('finds the same, under the rules, %s', (mode) => {
    const { clients } = replays[mode];
    expect(clients?.cases).toBe(225);
    expect(shortcomings('clients', clients)).toBe('');
  });
});
