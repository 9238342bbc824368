// Starts a thread that watches signals. Such a thread may need flags of Node, but what runs in it must not depend on them.

import { Worker, type WorkerOptions } from 'node:worker_threads';

import { WATCHING_THREAD_ARGUMENTS } from './signal-watch.js';

/** A Node that refuses the flags gets a thread without: signals are then handled by the main thread alone. */
export function startWatchingThread(
  entry: URL,
  options: Omit<WorkerOptions, 'execArgv'>,
  flags: readonly string[] = WATCHING_THREAD_ARGUMENTS,
): Worker {
  // Flags of this process such as --import or --inspect are not meant for the thread.
  const withFlags = (execArgv: readonly string[]) => new Worker(entry, { ...options, execArgv: [...execArgv] });
  try {
    return withFlags(flags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_INVALID_EXEC_ARGV') throw error;
    return withFlags([]);
  }
}
