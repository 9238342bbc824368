// Runs the server in a thread of its own, while the callables stay in the user's thread. A thread that dies restarts on
// the same ports with the same models, whose callables and threads outlive it.

import { TritonError } from '../errors.js';
import type { RequestTracing } from '../host/request-tracing.js';
import { followSignal } from '../lifecycle/follow-signal.js';
import { Restarts } from '../lifecycle/restarts.js';
import { type LogSink, ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { ControlReply } from './control-messages.js';
import { HostedModels } from './hosted-models.js';
import { openLogSink, type ClosableLogSink, writeTo } from './log-sink.js';
import { OwnerPulse } from './owner-pulse.js';
import type { EndableLoad, HostedModel, ServerHandle, ServerServices } from './server-handle.js';
import { withPorts, type ServerOptions, type ServerPorts, type StopTimes } from './server-options.js';
import { ServerWorker } from './server-worker.js';

export interface ThreadServerListeners {
  /** The thread died and is about to restart. */
  readonly onDeath: (error: TritonError) => void;
  /** The thread is dead and does not restart. */
  readonly onGivenUp: (error: TritonError) => void;
}

export class ThreadServer implements ServerHandle {
  readonly tracing: RequestTracing | undefined;
  readonly #listeners: ThreadServerListeners;
  readonly #sink: ClosableLogSink;
  readonly #logger: ServerLogger;
  readonly #models: HostedModels;
  /** Models whose load is under way; a restarted server begins it anew. */
  readonly #loading = new Set<number>();
  readonly #restarts: Restarts;
  readonly #over = new AbortController();
  readonly #pulse = new OwnerPulse();
  #options: ServerOptions;
  #worker: ServerWorker;
  #broken: readonly RepositoryModel[] = [];
  #serves = false;
  /** Settles when a dead thread has restarted, or is given up. */
  #restarting: Promise<void> | undefined;
  #givenUp: TritonError | undefined;
  #stopping: Promise<void> | undefined;
  #watchedWith: StopTimes | undefined;

  constructor(options: ServerOptions, listeners: ThreadServerListeners, services: ServerServices = {}) {
    const { tracing, logger, loadFolder = async () => false } = services;
    this.#options = options;
    this.#listeners = listeners;
    this.tracing = tracing;
    this.#sink = openLogSink(options.logFile, writeTo(logger));
    this.#logger = new ServerLogger(options.http?.page === true ? this.#shownSink() : this.#sink, options.logSettings);
    this.#models = new HostedModels({
      logger: this.#logger,
      tracing,
      loadFolder,
      onMessage: () => this.#pulse.beat(),
    });
    this.#restarts = new Restarts({
      called: 'the server',
      signal: this.#over.signal,
      start: async () => {
        try {
          await this.#startAgain();
        } catch (error) {
          await this.#worker.terminate();
          if (this.#stopping === undefined) this.#models.leave(this.#loading);
          throw error;
        }
      },
      logError: (message) => this.#logger.error(message),
      onGivenUp: (error) => {
        this.#givenUp = error;
        listeners.onGivenUp(error);
      },
    });
    this.#worker = this.#launch();
  }

  /** The page of the server's thread shows the entries of this thread too. */
  #shownSink(): LogSink {
    return {
      write: (entry) => {
        this.#sink.write(entry);
        this.#worker.logged(entry);
      },
    };
  }

  get logger(): ServerLogger {
    return this.#logger;
  }

  get lives(): boolean {
    return !this.#worker.isOver && this.#restarting === undefined;
  }

  async start(): Promise<ServerPorts> {
    const { ports } = await this.#worker.call({ kind: 'start' });
    this.#options = withPorts(this.#options, ports!);
    return ports!;
  }

  async load(model: HostedModel, { now = false, signal }: EndableLoad): Promise<void> {
    const id = this.#models.add(model);
    this.#loading.add(id);
    const { config } = model;
    const endLoad = () => void this.#worker.call({ kind: 'end load', model: id }).catch(() => undefined);
    const unfollow = followSignal(signal, endLoad);
    try {
      await this.#onLivingServer(async (worker) => {
        signal.throwIfAborted();
        return worker.call({ kind: 'load', config, model: id, now });
      });
    } catch (error) {
      this.#models.abandon(id);
      throw error;
    } finally {
      unfollow();
      this.#loading.delete(id);
    }
    // A restart does not load the replaced model.
    this.#models.forget(config, id);
  }

  async listBroken(models: readonly RepositoryModel[]): Promise<void> {
    this.#broken = models;
    await this.#onLivingServer((worker) => worker.call({ kind: 'broken', models }));
  }

  async unload(config: CompleteModelConfig): Promise<void> {
    await this.#unlessStopped((worker) => worker.call({ kind: 'unload', config }));
    this.#models.forget(config);
  }

  async retired(config: CompleteModelConfig): Promise<void> {
    await this.#unlessStopped((worker) => worker.call({ kind: 'retired', config }));
  }

  async started(): Promise<void> {
    await this.#worker.call({ kind: 'started' });
    this.#serves = true;
  }

  async watchSignals(times: StopTimes): Promise<void> {
    if (this.#watchedWith !== undefined) return;
    this.#watchedWith = times;
    await this.#watchSignals();
  }

  async #watchSignals(): Promise<void> {
    const times = this.#watchedWith;
    // A dead thread restarts, and the new one watches.
    if (times !== undefined) await this.#worker.call({ kind: 'watch signals', times }).catch(() => undefined);
  }

  stop(times: StopTimes): Promise<void> {
    return (this.#stopping ??= this.#stop(times));
  }

  async #stop(times: StopTimes): Promise<void> {
    this.#over.abort();
    try {
      if (this.lives) await this.#worker.call({ kind: 'stop', times });
    } catch (error) {
      // A thread that dies now has stopped too.
      if (!this.#worker.isOver) throw error;
    } finally {
      this.#models.closeHosts();
      await this.#worker.terminate();
      await this.#restarting;
      // Models may have been opened meanwhile.
      this.#models.closeHosts();
      this.#pulse.stop();
      this.#sink.close();
    }
  }

  #launch(): ServerWorker {
    const options = { ...this.#options, logSettings: this.#logger.settings };
    const worker = new ServerWorker(
      { options, beats: this.#pulse.beats },
      {
        onMessage: (message) => {
          switch (message.kind) {
            case 'host':
              return void this.#models.host(message, worker);
            case 'end instance':
              return this.#models.endInstance(message);
            case 'readiness':
              return this.#models.ready(message);
            case 'traces':
              return this.tracing?.recordEnded(message.ended, this.#logger);
            case 'log':
              return this.#sink.write(message.entry);
            case 'log settings':
              // The callables of this thread log too.
              return this.#logger.configure(message.settings);
            case 'link':
              // Of the thread of a link.
              return undefined;
          }
        },
        onDeath: (error) => this.#died(error, worker),
      },
    );
    return worker;
  }

  /** Makes a call to the server, and repeats it when the server's thread dies meanwhile and restarts. */
  async #onLivingServer(call: (worker: ServerWorker) => Promise<ControlReply>): Promise<void> {
    for (;;) {
      await this.#restarting;
      if (this.#givenUp !== undefined) throw this.#givenUp;
      const worker = this.#worker;
      try {
        await call(worker);
        return;
      } catch (error) {
        if (!worker.isOver || this.#restarting === undefined) throw error;
      }
    }
  }

  /** As {@link #onLivingServer}. A server that has stopped meanwhile serves no model: then there is nothing left to do. */
  async #unlessStopped(call: (worker: ServerWorker) => Promise<ControlReply>): Promise<void> {
    try {
      await this.#onLivingServer(call);
    } catch (error) {
      if (this.#stopping === undefined || !this.#worker.isOver) throw error;
    }
  }

  #died(error: TritonError, worker: ServerWorker): void {
    // During a start, a restart or a stop, the failing calls report the death.
    if (!this.#serves || this.#restarting !== undefined || this.#stopping !== undefined) return;
    this.#logger.error(`${error.message}; starting it again`);
    this.#models.leave(this.#loading);
    this.#restarting = this.#restarts.after(error, worker.age).finally(() => (this.#restarting = undefined));
    this.#listeners.onDeath(error);
  }

  async #startAgain(): Promise<void> {
    const worker = (this.#worker = this.#launch());
    void this.#watchSignals();
    await worker.call({ kind: 'start' });
    await worker.call({ kind: 'broken', models: this.#broken });
    for (const [id, config] of this.#models.all) if (!this.#loading.has(id)) void this.#loadAgain(id, config, worker);
    await worker.call({ kind: 'started' });
    this.#logger.info("the server's thread is there again");
  }

  async #loadAgain(id: number, config: CompleteModelConfig, worker: ServerWorker): Promise<void> {
    try {
      await worker.call({ kind: 'load', config, model: id, again: this.#models.before(id) });
      this.#models.tried(id, { failed: false });
    } catch (error) {
      if (worker.isOver) return;
      this.#models.tried(id, { failed: true });
      const { name, version } = config;
      this.#logger.error(`'${name}' version ${version} did not load again: ${TritonError.from(error).message}`);
    }
    await this.#models.closeLeft(id);
  }
}
