import { expect, it } from 'vitest';
import { replaySchedulerFile } from './replays.js';
import { summarize } from './rules.js';

it('schedules requests as Triton does, under the rules', async () => {
  const { scenarios } = await replaySchedulerFile();
  expect(scenarios?.cases).toBe(236);
  expect(summarize(scenarios)).toBe('');
});
