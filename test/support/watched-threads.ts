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

export interface CountedThreads extends Disposable {
  /** Of those that were started since. */
  readonly living: number;
}

/** Begins to count. */
export function countThreads(): CountedThreads {
  const living = new Set<Worker>();
  const onWorker = (worker: Worker) => {
    living.add(worker);
    worker.once('exit', () => living.delete(worker));
  };
  process.on('worker', onWorker);
  return {
    get living() {
      return living.size;
    },
    [Symbol.dispose]: () => void process.off('worker', onWorker),
  };
}
