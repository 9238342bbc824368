// The threads that a test's process starts, in order: for tests that end one of them from outside.
import type { Worker } from 'node:worker_threads';

export interface WatchedThreads extends Disposable {
  /** Those started since, living or not. */
  readonly started: readonly Worker[];
}

/** Begins to watch. A server's own thread is the first that its `run` starts. */
export function watchThreads(): WatchedThreads {
  const started: Worker[] = [];
  const onWorker = (worker: Worker) => void started.push(worker);
  process.on('worker', onWorker);
  return { started, [Symbol.dispose]: () => void process.off('worker', onWorker) };
}
