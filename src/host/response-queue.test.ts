import { describe, expect, it } from 'vitest';

import { ResponseQueue } from './response-queue.js';

async function drain(queue: ResponseQueue<number>): Promise<number[]> {
  const all: number[] = [];
  for (let next = await queue.next(); next.done !== true; next = await queue.next()) all.push(next.value);
  return all;
}

/** Whether a promise has settled by now. */
async function settled(promise: void | Promise<void>): Promise<boolean> {
  return Promise.race([
    Promise.resolve(promise).then(() => true),
    new Promise<boolean>((resolve) => setImmediate(resolve, false)),
  ]);
}

describe('ResponseQueue', () => {
  it('gives responses in order, whether they or the loop came first, and then ends', async () => {
    const queue = new ResponseQueue<number>();
    const first = queue.next();
    for (const response of [1, 2, 3]) expect(queue.push(response)).toBeUndefined();
    queue.end();
    expect(await first).toEqual({ value: 1, done: false });
    expect(await drain(queue)).toEqual([2, 3]);
    expect(await queue.next()).toEqual({ value: undefined, done: true });
  });

  it('gives what came before a failure, then the failure, once', async () => {
    const queue = new ResponseQueue<number>();
    void queue.push(1);
    queue.fail(new Error('broken'));
    expect((await queue.next()).value).toBe(1);
    await expect(queue.next()).rejects.toThrow('broken');
    expect((await queue.next()).done).toBe(true);
  });

  it('fails a loop that waits', async () => {
    const queue = new ResponseQueue<number>();
    const next = queue.next();
    queue.fail(new Error('broken'));
    await expect(next).rejects.toThrow('broken');
  });

  it('tells whoever brings them to wait while sixteen lie there', async () => {
    const queue = new ResponseQueue<number>();
    for (let i = 0; i < 15; i++) expect(queue.push(i)).toBeUndefined();
    const sixteenth = queue.push(15);
    expect(await settled(sixteenth)).toBe(false);
    await queue.next();
    expect(await settled(sixteenth)).toBe(true);
  });

  it.each(['end', 'fail'] as const)(
    'lets whoever waits go at the end, though the loop takes nothing: %s',
    async (how) => {
      const queue = new ResponseQueue<number>();
      for (let i = 0; i < 15; i++) void queue.push(i);
      const last = queue.push(15);
      queue[how](new Error('broken'));
      expect(await settled(last)).toBe(true);
      expect((await queue.next()).value).toBe(0);
    },
  );

  it('lets whoever waits go when the loop wants no more, and keeps nothing', async () => {
    const queue = new ResponseQueue<number>();
    for (let i = 0; i < 15; i++) void queue.push(i);
    const last = queue.push(15);
    queue.close();
    expect(await settled(last)).toBe(true);
    expect(queue.push(16)).toBeUndefined();
    expect(await drain(queue)).toEqual([]);
  });
});
