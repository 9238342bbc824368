// Declares the running server that `Triton` sees, in this thread (LocalServer) or in one of its own (ThreadServer).

import type { FoldersOfModels } from '../core/client-loads.js';
import { TritonError } from '../errors.js';
import type { RequestTracing } from '../host/request-tracing.js';
import { ChannelInstance } from '../link/channel-instance.js';
import { PortChannel } from '../link/channel.js';
import { InlineInstance } from '../link/inline-instance.js';
import type { ThreadedInstance } from '../link/instance-supervisor.js';
import type { ExternalLogger, ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { instanceLogger } from '../observability/logger.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { EndedTrace } from '../observability/traces.js';
import { largeMemory } from '../sockets/large-memory.js';
import { writeTo } from './log-sink.js';
import type { InProcessRun } from '../frontend/served-core.js';
import type { Mount } from './mount.js';
import type { ModelOpening } from './model-opening.js';
import type { InstanceSource } from './served-model.js';
import type { OpenedInstances } from './served-opening.js';
import type { ServerOptions, ServerPorts, StopTimes } from './server-options.js';
import { Server } from './server.js';
import { SignalWatcher } from './signal-watcher.js';

/** A bound model as the user's thread hosts it. */
export interface HostedModel {
  readonly config: CompleteModelConfig;
  /**
   * Sets the model up and starts its threads, for every load anew. `override` replaces the bound configuration. Earlier
   * openings may still be open. Rejects with INVALID_ARG when the callables cannot work with the configuration, and when the signal
   * ends the load.
   */
  open(override?: CompleteModelConfig, signal?: AbortSignal): Promise<ModelOpening>;
  readonly onUnrecoverable: (error: TritonError) => void;
  /** Whether the server serves the model; false after a client unloaded it. The server sets it. */
  isReady: boolean;
}

export interface HostedLoad {
  /** A client asked for the load: the model is loaded even in explicit mode. */
  readonly now?: boolean;
}

export interface EndableLoad extends HostedLoad {
  /** Ends the load. */
  readonly signal: AbortSignal;
}

export interface ServerHandle {
  /** The server's log, for events in the user's thread. */
  readonly logger: ServerLogger;
  /** Makes the spans of traced requests in the user's thread; undefined where nothing is traced. */
  readonly tracing: RequestTracing | undefined;
  /** Whether the server runs; false during a restart. */
  readonly lives: boolean;
  /** Opens all ports. */
  start(): Promise<ServerPorts>;
  /**
   * Serves a model; in explicit mode it only lists the model. It replaces a served version, which is {@link retired}
   * when its last request has ended.
   */
  load(model: HostedModel, options: EndableLoad): Promise<void>;
  /** Shows models that could not be bound in the index, in place of the models of the last call. */
  listBroken(models: readonly RepositoryModel[]): Promise<void>;
  /** Stops serving a model, which is {@link retired} when its last request has ended. */
  unload(config: CompleteModelConfig): Promise<void>;
  /**
   * Resolves when the models that were replaced or unloaded so far under a name and version have answered their last
   * requests.
   */
  retired(config: CompleteModelConfig): Promise<void>;
  /** Everything bound before the start is loaded. */
  started(): Promise<void>;
  /** Makes the main thread's signals end the process even when that thread is blocked. Idempotent. */
  watchSignals(times: StopTimes): Promise<void>;
  /** Serves on, finishes the requests under way, within these times, and closes. Idempotent. */
  stop(times: StopTimes): Promise<void>;
}

/** The services of the user's thread for a server in any thread. */
export interface ServerServices {
  readonly tracing?: RequestTracing | undefined;
  /** Gets the log's entries; undefined: they go to the log file or standard error. */
  readonly logger?: ExternalLogger | undefined;
  /** Loads models of a model repository for clients; undefined where there is none. */
  readonly loadFolder?: FoldersOfModels['load'] | undefined;
  /** Handlers in other HTTP servers of this thread. */
  readonly mount?: Mount | undefined;
}

/** The server in the caller's own thread: lowest latency, but a callable that computes stops everything. */
export class LocalServer implements ServerHandle {
  readonly lives = true;
  readonly tracing: RequestTracing | undefined;
  readonly #server: Server;
  readonly #options: ServerOptions;
  #watcher: SignalWatcher | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ServerOptions, { tracing, logger, loadFolder, mount }: ServerServices = {}) {
    this.#options = options;
    this.tracing = tracing;
    const onTraces = (ended: readonly EndedTrace[]) => tracing?.recordEnded(ended, this.logger);
    this.#server = new Server(options, { onTraces, onLog: writeTo(logger), mount, ...(loadFolder && { loadFolder }) });
  }

  get logger(): ServerLogger {
    return this.#server.logger;
  }

  /** For clients in this thread. */
  get inProcess(): InProcessRun {
    return this.#server.inProcess;
  }

  start(): Promise<ServerPorts> {
    return this.#server.start();
  }

  load(model: HostedModel, options: EndableLoad): Promise<void> {
    const source: InstanceSource = {
      open: async (override, ending) => {
        // A client's earlier load may get its turn only now, when the model may already belong to another server.
        if (this.#stopping !== undefined)
          throw new TritonError('UNAVAILABLE', 'the server was stopped before the model was loaded');
        return this.#instancesOf(await model.open(override, ending), model);
      },
      onReady: (isReady) => (model.isReady = isReady),
    };
    return this.#server.load(model.config, source, options);
  }

  #instancesOf(opening: ModelOpening, { onUnrecoverable }: HostedModel): OpenedInstances {
    const { config, callables, threads } = opening;
    const { tracing } = this;
    const inline = callables.map((callable, index) => {
      const logger = instanceLogger(this.#server.logger, config, index);
      return new InlineInstance(config, callable, { logger, onUnrecoverable, tracing, allocate });
    });
    const threaded = ({ port, end }: ThreadedInstance) => new ChannelInstance(config, new PortChannel(port), end);
    const instances: OpenedInstances = {
      instances: [...inline, ...threads.map(threaded)],
      onRestart: (instance) => instance.close?.(),
      close: () => opening.close(),
    };
    opening.onRestart = (thread) => instances.onRestart(threaded(thread));
    return instances;
  }

  async listBroken(models: readonly RepositoryModel[]): Promise<void> {
    this.#server.listBroken(models);
  }

  unload(config: CompleteModelConfig): Promise<void> {
    return this.#server.unload(config);
  }

  retired(config: CompleteModelConfig): Promise<void> {
    return this.#server.retired(config);
  }

  started(): Promise<void> {
    return this.#server.started();
  }

  watchSignals(times: StopTimes): Promise<void> {
    return (this.#watcher ??= new SignalWatcher(times, this.#options)).watching;
  }

  stop(times: StopTimes): Promise<void> {
    return (this.#stopping ??= this.#stop(times));
  }

  async #stop(times: StopTimes): Promise<void> {
    try {
      await this.#server.stop(times);
    } finally {
      await this.#watcher?.close();
    }
  }
}

const allocate = largeMemory.ofAnswer.bind(largeMemory);
