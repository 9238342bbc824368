import { expect, it } from 'vitest';
import { replayErrorFile, replayLifecycleFile } from './pytriton-replays.js';
import { inBothModes, MODES } from './replays.js';
import { shortcomings } from './unread-members.js';

// Servers in a dozen processes of their own among others, all in the mode that users get.
it("lives as PyTriton's server does, under the rules", { timeout: 60_000 }, async () => {
  const { lifecycle } = await replayLifecycleFile();
  expect(lifecycle?.cases).toBe(137);
  expect(shortcomings('lifecycle', lifecycle)).toBe('');
});

it("tells errors of callables as PyTriton's server does, under the rules", { timeout: 60_000 }, async () => {
  const replays = await inBothModes(replayErrorFile);
  for (const mode of MODES) {
    const { errors } = replays[mode];
    expect(errors?.cases).toBe(28);
    expect(shortcomings('errors', errors), mode).toBe('');
  }
});
