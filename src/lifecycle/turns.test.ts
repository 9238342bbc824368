import { expect, it } from 'vitest';

import { gate } from '../../test/support/start-server.js';
import { Turns } from './turns.js';

it('does what is asked under one key in order, a failure too, and holds up no other key', async () => {
  const turns = new Turns();
  const done: string[] = [];
  const { open, opened } = gate();
  const first = turns.take('a', async () => {
    await opened;
    done.push('first');
    throw new Error('failed');
  });
  const second = turns.take('a', () => done.push('second'));
  await turns.take('b', () => done.push('other'));
  open();
  await expect(first).rejects.toThrow('failed');
  expect(await second).toBe(3);
  expect(done).toEqual(['other', 'first', 'second']);
});

it('tells when nothing is left to do', async () => {
  const turns = new Turns();
  await turns.idle();
  let isDone = false;
  void turns.take('a', async () => {
    await new Promise((resolve) => setImmediate(resolve));
    isDone = true;
  });
  expect(turns.busy).toEqual(['a']);
  await turns.idle();
  expect([isDone, turns.busy]).toEqual([true, []]);
});
