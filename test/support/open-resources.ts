/* oxlint-disable vitest/no-standalone-expect -- the hook below is part of every test file */
// Loaded before every test file: fails the file when its tests leave a socket, a server, a thread or a child process behind.
// Closing takes the event loop a few turns, so what is open is looked at again for a while before it counts.
// Files of the unit tests follow each other in one process: what one of them faked is real again for the next.
import type { Worker } from 'node:worker_threads';
import { afterAll, expect, vi } from 'vitest';

/** Handles as Node names them; threads are not among its handles and are counted by hand. */
const WATCHED = new Set(['TCPServerWrap', 'TCPSocketWrap', 'PipeWrap', 'MessagePort', 'ProcessWrap']);
/** For what closes; what stays open fails after it, however slow the machine is. */
const GRACE_MILLISECONDS = 5000;

/** What the first test file of this process found. */
interface ProcessStart {
  readonly threads: ReadonlySet<Worker>;
  readonly restoreClock: () => void;
}

const KEY = Symbol.for('tstriton.open-resources');
const shared = globalThis as { [KEY]?: ProcessStart };
const { threads, restoreClock } = (shared[KEY] ??= { threads: watchThreads(), restoreClock: keepClock() });

function watchThreads(): ReadonlySet<Worker> {
  const running = new Set<Worker>();
  process.on('worker', (thread) => {
    running.add(thread);
    thread.once('exit', () => running.delete(thread));
  });
  return running;
}

/** Tells how to undo what tests fake; a spy on a faked timer, restored after the timer, would bring the fake back. */
function keepClock(): () => void {
  const { Date, setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = globalThis;
  const real = { Date, setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };
  const now = performance.now;
  return () => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    Object.assign(globalThis, real);
    performance.now = now;
  };
}

/** Names of the watched resources that keep this process alive, beyond those in `before`. */
function openResources(before: readonly string[]): string[] {
  const open = process.getActiveResourcesInfo().filter((name) => WATCHED.has(name));
  open.push(...[...threads].map(() => 'Worker'));
  for (const name of before) {
    const index = open.indexOf(name);
    if (index >= 0) open.splice(index, 1);
  }
  return open;
}

const atStart = openResources([]);

afterAll(async () => {
  restoreClock();
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
