// Starts a thread that watches signals. Such a thread may need flags of Node, but other code in it must not depend on
// them.

import { Worker, type WorkerOptions } from 'node:worker_threads';

import { WATCHING_THREAD_ARGUMENTS } from './signal-watch.js';

/**
 * Most of what such a thread makes lives as long as a request. V8's own limit (48 MB) takes 10 MB of memory more, and holds the memory
 * of large requests longer, for no speed (`bench -- memory,large`). `--max-semi-space-size` goes before it.
 */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 6 };

/** If Node refuses the flags, the thread starts without them, and only the main thread handles signals. */
export function startWatchingThread(
  entry: URL,
  options: Omit<WorkerOptions, 'execArgv'>,
  flags: readonly string[] = WATCHING_THREAD_ARGUMENTS,
): Worker {
  // Flags of this process such as --import or --inspect are not meant for the thread.
  const withFlags = (execArgv: readonly string[]) =>
    new Worker(entry, { ...options, resourceLimits: RESOURCE_LIMITS, execArgv: [...execArgv] });
  try {
    return withFlags(flags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_INVALID_EXEC_ARGV') throw error;
    return withFlags([]);
  }
}
