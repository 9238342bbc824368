// Holds the callables of a model in the user's thread and the threads of its instance groups, from one load to its end.

import type { HostedCallable } from '../host/callable-turns.js';
import type { ThreadedInstance } from '../link/instance-supervisor.js';
import { InstanceThreads, type InstanceThreadsOptions } from '../link/instance-threads.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { Life } from '../lifecycle/lives.js';
import type { Logger } from '../observability/logger.js';
import { loggedWait } from './waiting-log.js';

export interface ModelOpeningOptions extends Omit<InstanceThreadsOptions, 'firstInstance' | 'onRestart'> {
  /** The configuration of this load, where it replaces the bound one. */
  readonly override: CompleteModelConfig | undefined;
  readonly callables: readonly HostedCallable[];
  /** Called once, when everything has ended. */
  readonly onClosed: () => void | Promise<void>;
}

export class ModelOpening {
  /** The configuration of this load. */
  readonly config: CompleteModelConfig;
  /** The same; undefined for the bound configuration. */
  readonly override: CompleteModelConfig | undefined;
  /** One instance each, in this thread. */
  readonly callables: readonly HostedCallable[];
  /** One instance each, in threads of their own. */
  threads: readonly ThreadedInstance[] = [];
  /** Called with restarted threads; the server sets it. */
  onRestart: (thread: ThreadedInstance) => void = ({ port }) => port.close();
  readonly #threads: InstanceThreads;
  readonly #logger: Logger;
  readonly #onClosed: () => void | Promise<void>;
  readonly #life = new Life('opening', 'opening');
  #closing: Promise<void> | undefined;

  constructor({ override, callables, onClosed, ...options }: ModelOpeningOptions) {
    this.config = options.config;
    this.override = override;
    this.callables = callables;
    this.#logger = options.logger;
    this.#onClosed = onClosed;
    this.#threads = new InstanceThreads({
      ...options,
      firstInstance: callables.length,
      onRestart: (thread) => this.onRestart(thread),
    });
  }

  /** Starts the threads. When one fails, ends all of them and rejects with the first reason. */
  async start(): Promise<void> {
    this.threads = await this.#threads.start();
    this.#life.on('opened');
  }

  /** The live threads, for a server that replaces a dead one. */
  reconnect(): readonly ThreadedInstance[] {
    return this.#threads.reconnect();
  }

  /** Ends everything. Idempotent. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#life.on('closing');
    await this.#stopThreads();
    await this.#onClosed();
    this.#life.on('closed');
  }

  #stopThreads(): Promise<void> {
    const what = `model '${this.config.name}' until it has torn down its instance threads`;
    return loggedWait(this.#threads.stop(), this.#logger, what);
  }
}
