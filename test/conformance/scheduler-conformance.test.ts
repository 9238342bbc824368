import { expect, it } from 'vitest';
import { replaySchedulerFile } from './replays.js';
import { shortcomings } from './unread-members.js';

it('schedules requests as Triton does, under the rules', async () => {
  const { scenarios } = await replaySchedulerFile();
  expect(scenarios?.cases).toBe(236);
  expect(shortcomings('scenarios', scenarios)).toBe('');
});
