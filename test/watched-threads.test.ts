import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { stop, transformSync } from 'esbuild';
import { afterAll, expect, it } from 'vitest';

import { countThreads, watchThreads } from './support/watched-threads.js';

afterAll(() => stop());

it('counts the threads that are started, and none of a loader of TypeScript', async () => {
  using counted = countThreads();
  using watched = watchThreads();
  // tsx transforms modules so, where it runs in the thread that imports them.
  expect(transformSync('const a: number = 1;', { loader: 'ts' }).code).toBe('const a = 1;\n');
  const worker = new Worker('setTimeout(() => {}, 2 ** 30)', { eval: true });
  // The process learns of a new thread in its next turn.
  await once(worker, 'online');
  expect(counted.living).toBe(1);
  expect(watched.started).toEqual([worker]);
  await worker.terminate();
  expect(counted.living).toBe(0);
});
