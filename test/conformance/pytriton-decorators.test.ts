import { expect, it } from 'vitest';
import { replayDecoratorFile } from './pytriton-replays.js';
import { shortcomings } from './unread-members.js';

it("makes of calls what PyTriton's decorators make of them, under the rules", async () => {
  const { decorators } = await replayDecoratorFile();
  expect(decorators?.cases).toBe(166);
  expect(shortcomings('decorators', decorators)).toBe('');
});
