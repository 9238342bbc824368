// The threads that a test's process starts, in order: for tests that end one of them from outside. A loader of TypeScript may start
// one of its own at any time: tsx does, when it has no kept copy of a module. It is nobody's, and ends with the process.
import { channel } from 'node:diagnostics_channel';
import type { Worker } from 'node:worker_threads';

export interface WatchedThreads extends Disposable {
  /** Those started since, living or not. */
  readonly started: readonly Worker[];
}

/** Begins to watch. A server's own thread is the first that its `run` starts. */
export function watchThreads(): WatchedThreads {
  const started: Worker[] = [];
  return { started, ...onThread((worker) => void started.push(worker)) };
}

export interface CountedThreads extends Disposable {
  /** Of those that were started since. */
  readonly living: number;
}

/** Begins to count. */
export function countThreads(): CountedThreads {
  const living = new Set<Worker>();
  const watch = onThread((worker) => {
    living.add(worker);
    worker.once('exit', () => living.delete(worker));
  });
  return {
    get living() {
      return living.size;
    },
    ...watch,
  };
}

/** The channel is told in the constructor of the thread, so that the stack shows who starts it. */
function onThread(listener: (worker: Worker) => void): Disposable {
  const onWorker = (message: unknown) => {
    if (!/[\\/]esbuild[\\/]lib[\\/]/.test(new Error('who').stack ?? ''))
      listener((message as { worker: Worker }).worker);
  };
  const threads = channel('worker_threads');
  threads.subscribe(onWorker);
  return { [Symbol.dispose]: () => threads.unsubscribe(onWorker) };
}
