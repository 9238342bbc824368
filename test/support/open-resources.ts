/* oxlint-disable vitest/no-standalone-expect -- the hook below is part of every test file */
// Loaded before every test file: fails the file when its tests leave a socket, a server, a thread or a child process behind.
// Closing takes the event loop a few turns, so what is open is looked at again for a second before it counts.
import type { Worker } from 'node:worker_threads';
import { afterAll, expect } from 'vitest';

/** Handles as Node names them; threads are not among its handles and are counted by hand. */
const WATCHED = new Set(['TCPServerWrap', 'TCPSocketWrap', 'PipeWrap', 'MessagePort', 'ProcessWrap']);
const GRACE_MILLISECONDS = 1000;

const threads = new Set<Worker>();
process.on('worker', (thread) => {
  threads.add(thread);
  thread.once('exit', () => threads.delete(thread));
});

/** Names of the watched resources that keep this process alive, beyond those in `before`. */
function openResources(before: readonly string[]): string[] {
  const open = process.getActiveResourcesInfo().filter((name) => WATCHED.has(name));
  for (const name of before) {
    const index = open.indexOf(name);
    if (index >= 0) open.splice(index, 1);
  }
  return [...open, ...[...threads].map(() => 'Worker')];
}

const atStart = openResources([]);

afterAll(async () => {
  const deadline = performance.now() + GRACE_MILLISECONDS;
  // Node tells of a new thread a turn later.
  await new Promise((resolve) => setImmediate(resolve));
  let left = openResources(atStart);
  while (left.length > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    left = openResources(atStart);
  }
  expect(left, 'left open by the tests of this file').toEqual([]);
});
