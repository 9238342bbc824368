// What a model runs on in the user's thread from one load to its end: its callables there, and the threads of its
// instance groups.

import type { HostedCallable } from '../link/callable-turns.js';
import type { ThreadedInstance } from '../link/instance-supervisor.js';
import { InstanceThreads, type InstanceThreadsOptions } from '../link/instance-threads.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { Logger } from '../model/logger.js';
import type { OpenedModel } from './server-handle.js';
import { loggedWait } from './waiting-log.js';

export interface ModelOpeningOptions extends Omit<InstanceThreadsOptions, 'firstInstance' | 'onRestart'> {
  readonly callables: readonly HostedCallable[];
  /** Told once, when everything has ended. */
  readonly onClosed: () => void | Promise<void>;
}

export class ModelOpening implements OpenedModel {
  readonly config: CompleteModelConfig;
  readonly callables: readonly HostedCallable[];
  threads: readonly ThreadedInstance[] = [];
  onRestart: (thread: ThreadedInstance) => void = ({ port }) => port.close();
  readonly #threads: InstanceThreads;
  readonly #logger: Logger;
  readonly #onClosed: () => void | Promise<void>;
  #closing: Promise<void> | undefined;

  constructor({ callables, onClosed, ...options }: ModelOpeningOptions) {
    this.config = options.config;
    this.callables = callables;
    this.#logger = options.logger;
    this.#onClosed = onClosed;
    this.#threads = new InstanceThreads({
      ...options,
      firstInstance: callables.length,
      onRestart: (thread) => this.onRestart(thread),
    });
  }

  /** Whether an instance is there that takes batches. */
  get lives(): boolean {
    return this.callables.length > 0 || this.#threads.living > 0;
  }

  /** Starts the threads. Rejects with the first reason; none of them is left then. */
  async start(): Promise<void> {
    this.threads = await this.#threads.start();
  }

  reconnect(): readonly ThreadedInstance[] {
    return this.#threads.reconnect();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#stopThreads().then(this.#onClosed));
  }

  #stopThreads(): Promise<void> {
    const what = `model '${this.config.name}' until it has torn down its instance threads`;
    return loggedWait(this.#threads.stop(), this.#logger, what);
  }
}
