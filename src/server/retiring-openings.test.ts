import { expect, it } from 'vitest';

import { completeModelConfig } from '../model/complete-model.js';
import { RetiringOpenings } from './retiring-openings.js';

const config = completeModelConfig({ modelName: 'm', inputs: {}, outputs: {} }, 1);

/** Instances that end when a test says so, and what has happened. */
function retiring() {
  const events: string[] = [];
  const leave = new Map<string, () => void>();
  const listener = {
    left: (key: string) => new Promise<void>((resolve) => leave.set(key, resolve)),
    remove: (key: string) => void events.push(`removed ${key}`),
  };
  const retired = new RetiringOpenings(listener);
  const add = (key: string, close: () => Promise<void> = async () => undefined) => {
    const opening = {
      config,
      close: async () => {
        events.push(`closing ${key}`);
        await close();
        events.push(`closed ${key}`);
      },
    };
    retired.add({ opening: opening as never, key });
  };
  return { events, leave: (key: string) => leave.get(key)!(), retired, add };
}

it('closes an opening when its last instance has gone, and tells when all of a name are closed', async () => {
  const { events, leave, retired, add } = retiring();
  await retired.ended(config);
  add('first');
  add('second');
  const ended = retired.ended(config).then(() => events.push('ended'));
  leave('second');
  await expect.poll(() => events).toEqual(['removed second', 'closing second', 'closed second']);
  leave('first');
  await ended;
  expect(events.slice(3)).toEqual(['removed first', 'closing first', 'closed first', 'ended']);
});

it('waits also for a close that has begun, and tells of its failure', async () => {
  const { leave, retired, add, events } = retiring();
  let fail!: (error: Error) => void;
  add('torn', () => new Promise((_, reject) => (fail = reject)));
  leave('torn');
  await expect.poll(() => events).toContain('closing torn');
  const ended = retired.ended(config);
  fail(new Error('no teardown'));
  await expect(ended).rejects.toThrow('no teardown');
  // Nobody waits for it: the process goes on.
  await retired.ended(config);
});
