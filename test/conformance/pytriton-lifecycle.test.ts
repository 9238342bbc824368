import { beforeAll, describe, expect, it } from 'vitest';
import { replayErrorFile, replayLifecycleFile } from './pytriton-replays.js';
import { inBothModes, MODES, type ModeReplays } from './replays.js';
import { shortcomings } from './unread-members.js';

// Servers in a dozen processes of their own among others, all in the mode that users get.
it("lives as PyTriton's server does, under the rules", async () => {
  const { lifecycle } = await replayLifecycleFile();
  expect(lifecycle?.cases).toBe(137);
  expect(shortcomings('lifecycle', lifecycle)).toBe('');
});

describe("errors of callables compared with PyTriton's", () => {
  let replays: ModeReplays;

  beforeAll(async () => {
    replays = await inBothModes(replayErrorFile);
  });

  it.each(MODES)('agree, under the rules, %s', (mode) => {
    const { errors } = replays[mode];
    expect(errors?.cases).toBe(28);
    expect(shortcomings('errors', errors)).toBe('');
  });
});
