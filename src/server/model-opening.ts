// What a model runs on in the user's thread from one load to its end: its callables there, and the threads of its
// instance groups.

import type { HostedCallable } from '../host/callable-turns.js';
import type { ThreadedInstance } from '../link/instance-supervisor.js';
import { InstanceThreads, type InstanceThreadsOptions } from '../link/instance-threads.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { Life } from '../model/lives.js';
import type { Logger } from '../model/logger.js';
import { loggedWait } from './waiting-log.js';

export interface ModelOpeningOptions extends Omit<InstanceThreadsOptions, 'firstInstance' | 'onRestart'> {
  /** The configuration of this load, where it is not what the model was bound with. */
  readonly override: CompleteModelConfig | undefined;
  readonly callables: readonly HostedCallable[];
  /** Called once, when everything has ended. */
  readonly onClosed: () => void | Promise<void>;
}

export class ModelOpening {
  /** What it is loaded with. */
  readonly config: CompleteModelConfig;
  /** The same, unless that is what the model was bound with. */
  readonly override: CompleteModelConfig | undefined;
  /** One instance each, in this thread. */
  readonly callables: readonly HostedCallable[];
  /** One instance each, in threads of their own. */
  threads: readonly ThreadedInstance[] = [];
  /** Called with threads that were started again; the server sets it. */
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

  /** Starts the threads. Rejects with the first reason; none of them is left then. */
  async start(): Promise<void> {
    this.threads = await this.#threads.start();
    this.#life.on('opened');
  }

  /** The threads that live, for a server that takes the place of another one. */
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
