// Starts and ends the thread that watches signals for a server in the main thread.

import { isMainThread, type Worker } from 'node:worker_threads';

import { ownFile } from '../link/own-file.js';
import type { ServerOptions, StopTimes } from './server-options.js';
import { secondsOf } from './signal-watch.js';
import { startWatchingThread } from './watching-thread.js';

/**
 * Whether Node gives this thread signals. Where it does not, nothing may watch them: that would disable their default
 * action, and nobody would end the process.
 */
export const HEARS_SIGNALS: boolean = isMainThread;

/** The start data of the thread. */
export interface SignalThreadData extends Pick<ServerOptions, 'logFile' | 'logSettings'> {
  /** See `watchSignals`. */
  readonly limitSecs: number;
}

export type SignalThreadMessage = 'watching' | 'are you there?';

export class SignalWatcher {
  readonly #worker: Worker | undefined;
  /** Resolves when signals are watched, or when it is clear that they cannot be. */
  readonly watching: Promise<void> = Promise.resolve();

  /** A bundle has no entry of the thread, so nothing is watched there. */
  constructor(times: StopTimes, { logFile, logSettings }: Pick<ServerOptions, 'logFile' | 'logSettings'>) {
    const entry = ownFile(() => new URL('./signal-thread.js', import.meta.url));
    if (entry === undefined) return;
    const workerData: SignalThreadData = { limitSecs: secondsOf(times), logFile, logSettings };
    const worker = startWatchingThread(entry, { workerData, name: 'tstriton-signals' });
    this.watching = new Promise((resolve) => {
      worker.on('message', (message: SignalThreadMessage) => {
        if (message === 'watching') resolve();
        else worker.postMessage('yes');
      });
      worker.on('exit', () => resolve());
    });
    // Without it signals are handled by the main thread alone.
    worker.on('error', () => undefined);
    worker.unref();
    this.#worker = worker;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }
}
