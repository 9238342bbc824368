// Keeps a server alive whose output nobody reads, or whose disk is full. The threads of instances write through the main thread. There
// a failed write would be an uncaught error. A full pipe would hold the thread that writes the log.

import { isMainThread } from 'node:worker_threads';

import type { Logger } from '../observability/logger.js';

type Log = Pick<Logger, 'warn'>;
type Output = Pick<NodeJS.WriteStream, 'on'>;

const NAMES = { stdout: 'standard output', stderr: 'standard error' } as const;

export class StandardOutput {
  /** Of the servers that run. */
  readonly #loggers = new Set<Log>();
  readonly #streams: () => Readonly<Record<keyof typeof NAMES, Output>>;
  #isWatched = false;

  constructor(streams: () => Readonly<Record<keyof typeof NAMES, Output>>) {
    this.#streams = streams;
  }

  /** Tells this log of the first write that fails, until the returned function is called. Lines that come later than that end nothing either. */
  watch(logger: Log): () => void {
    this.#loggers.add(logger);
    if (!this.#isWatched) this.#listen();
    this.#isWatched = true;
    return () => void this.#loggers.delete(logger);
  }

  #listen(): void {
    for (const [key, stream] of Object.entries(this.#streams()) as [keyof typeof NAMES, Output][]) {
      let isTold = false;
      // Without this listener the error would be thrown. With it, console.log leaves the error to it.
      stream.on('error', ({ code }: NodeJS.ErrnoException) => {
        if (isTold) return;
        isTold = true;
        const failed = code === 'EPIPE' ? `nobody reads ${NAMES[key]} any more` : `${NAMES[key]} cannot be written`;
        const text = `${failed} (${code}): what callables print there is lost, and the server goes on`;
        for (const logger of this.#loggers) logger.warn(text);
      });
    }
  }
}

// Asking for a stream opens it, after which a full pipe refuses a write instead of holding the thread that writes.
const ofThisProcess = new StandardOutput(() => ({ stdout: process.stdout, stderr: process.stderr }));

/** Watches the streams of the process. In another thread than the main one there is nothing to watch. */
export function watchStandardOutput(logger: Log): () => void {
  return isMainThread ? ofThisProcess.watch(logger) : () => undefined;
}
