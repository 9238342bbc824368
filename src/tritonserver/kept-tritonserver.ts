// Keeps tritonserver alive: starts it, waits until it answers, and starts it again when it ends unasked.

import { TritonError } from '../errors.js';
import { RestartPauses } from '../link/restart-pauses.js';
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

/** It is given up after this many restarts in a row that failed or lasted less than ten seconds. */
const MOST_RESTARTS = 10;
/** How often it is asked whether it lives. */
const LOOK_MS = 50;
/** tritonserver looks once a second whether it may end. */
export const END_SECS = 5;

export class KeptTritonserver {
  readonly #options: KeptOptions;
  readonly #pauses = new RestartPauses();
  #process: TritonserverProcess | undefined;
  #isStopping = false;
  #wake: (() => void) | undefined;
  #lives = false;

  constructor(options: KeptOptions) {
    this.#options = options;
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
    this.#isStopping = true;
    this.#lives = false;
    this.#wake?.();
    const server = this.#process;
    if (server === undefined) return;
    const late = setTimeout(() => void server.kill(), (timeoutSecs + END_SECS) * 1000);
    await server.stop();
    clearTimeout(late);
  }

  async #answers(server: TritonserverProcess): Promise<void> {
    while (!this.#isStopping && !server.isOver) {
      if (await this.#options.isLive()) return;
      await this.#pause(LOOK_MS);
    }
    throw new TritonError('UNAVAILABLE', 'the server was stopped while it started');
  }

  #died(error: TritonError, lived: number): void {
    this.#lives = false;
    if (this.#isStopping) return;
    this.#options.process.logger.error(`${error.message}; starting it again`);
    this.#options.onDeath(error);
    void this.#restart(error, lived);
  }

  async #restart(error: TritonError, lived: number): Promise<void> {
    const { logger } = this.#options.process;
    for (let failure = error; !this.#isStopping; lived = 0) {
      const pause = this.#pauses.next(lived);
      if (this.#pauses.failures > MOST_RESTARTS) {
        const message = `tritonserver is given up after ${MOST_RESTARTS} restarts in a row: ${failure.message}`;
        logger.error(message);
        return this.#options.onGivenUp(new TritonError('UNAVAILABLE', message, { cause: failure }));
      }
      await this.#pause(pause);
      if (this.#isStopping) return;
      try {
        await this.start();
        return await this.#options.onBack();
      } catch (thrown) {
        failure = TritonError.from(thrown);
        if (!this.#isStopping) logger.error(`tritonserver did not start again: ${failure.message}`);
      }
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
