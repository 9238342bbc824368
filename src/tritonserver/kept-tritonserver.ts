// Keeps tritonserver alive: starts it, waits until it answers, and starts it again when it ends unasked.

import { TritonError } from '../errors.js';
import { pause } from '../lifecycle/pause.js';
import { Restarts } from '../lifecycle/restarts.js';
import { type ProcessOptions, TritonserverProcess } from './tritonserver-process.js';

export interface KeptOptions {
  readonly process: Omit<ProcessOptions, 'sharedMemory'>;
  /** Whether it answers. */
  readonly isLive: () => Promise<boolean>;
  /** Called when it has died and is about to restart. */
  readonly onDeath: (error: TritonError) => void;
  /** Called when it answers again after a death. */
  readonly onBack: () => Promise<void>;
  /** Called when it is dead and does not restart. */
  readonly onGivenUp: (error: TritonError) => void;
}

/** How often it is asked whether it lives. */
const LOOK_MS = 50;
/** tritonserver looks once a second whether it may end. */
export const END_SECS = 5;

export class KeptTritonserver {
  readonly #options: KeptOptions;
  readonly #restarts: Restarts;
  readonly #over = new AbortController();
  #process: TritonserverProcess | undefined;
  #lives = false;

  constructor(options: KeptOptions) {
    const { process, onBack, onGivenUp } = options;
    this.#options = options;
    this.#restarts = new Restarts({
      called: 'tritonserver',
      signal: this.#over.signal,
      start: async () => {
        await this.start();
        await onBack();
      },
      logError: (message) => process.logger.error(message),
      onGivenUp,
    });
  }

  get lives(): boolean {
    return this.#lives;
  }

  /** Resolves when it answers: its models have loaded then, or failed to. Rejects with the reason when it ends before. */
  async start(): Promise<void> {
    // Never the name of another one that is still there.
    const sharedMemory = `tstriton-${process.pid}-${Math.random().toString(36).slice(2, 10)}-`;
    const options = this.#options.process;
    const flags = [`--backend-config=python,shm-region-prefix-name=${sharedMemory}`, ...options.flags];
    const server = (this.#process = new TritonserverProcess({ ...options, flags, sharedMemory }));
    const startedAt = performance.now();
    await Promise.race([this.#answers(server), server.ended.then((error) => Promise.reject(error))]);
    this.#lives = true;
    void server.ended.then((error) => this.#died(error, performance.now() - startedAt));
  }

  /** Lets it finish its requests for so long. */
  async stop(timeoutSecs: number): Promise<void> {
    this.#over.abort();
    this.#lives = false;
    const server = this.#process;
    if (server === undefined) return;
    const late = setTimeout(() => void server.kill(), (timeoutSecs + END_SECS) * 1000);
    await server.stop();
    clearTimeout(late);
  }

  async #answers(server: TritonserverProcess): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted && !server.isOver) {
      if (await this.#options.isLive()) return;
      await pause(LOOK_MS, signal);
    }
    throw new TritonError('UNAVAILABLE', 'the server was stopped while it started');
  }

  #died(error: TritonError, lived: number): void {
    this.#lives = false;
    if (this.#over.signal.aborted) return;
    this.#options.process.logger.error(`${error.message}; starting it again`);
    this.#options.onDeath(error);
    void this.#restarts.after(error, lived);
  }
}
