// A running server as `Triton` sees it: in this thread (LocalServer) or in one of its own (ThreadServer).

import type { FoldersOfModels } from '../core/inference-server.js';
import { TritonError } from '../errors.js';
import type { ServedCore } from '../frontend/served-core.js';
import type { RequestTracing } from '../host/request-tracing.js';
import { ChannelInstance } from '../link/channel-instance.js';
import { PortChannel } from '../link/channel.js';
import { InlineInstance } from '../link/inline-instance.js';
import type { ThreadedInstance } from '../link/instance-supervisor.js';
import type { ExternalLogger, ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { instanceLogger } from '../model/logger.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { EndedTrace } from '../model/traces.js';
import { largeMemory } from '../sockets/large-memory.js';
import { writeTo } from './log-sink.js';
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
   * Sets it up and starts its threads, for every load anew; `override` is what it is loaded with, unless that is what it
   * was bound with. What was opened before may still be open. Rejects with INVALID_ARG when its callables cannot work
   * with the configuration.
   */
  open(override?: CompleteModelConfig): Promise<ModelOpening>;
  readonly onUnrecoverable: (error: TritonError) => void;
  /** Kept by the server: whether it serves the model, or a client has unloaded it. */
  isReady: boolean;
}

export interface HostedLoad {
  /** A client asked for it: it is loaded, though where clients load models it would only be known. */
  readonly now?: boolean;
}

export interface ServerHandle {
  /** The server's log, for what happens in the user's thread. */
  readonly logger: ServerLogger;
  /** Makes the spans of traced requests in the user's thread; undefined where nothing is traced. */
  readonly tracing: RequestTracing | undefined;
  /** Whether it is there; not while it is started again. */
  readonly lives: boolean;
  /** Opens all ports. */
  start(): Promise<ServerPorts>;
  /**
   * Serves a model, or, where clients load models, only knows it. A version that is there is replaced, and {@link retired} when
   * its last request has ended.
   */
  load(model: HostedModel, options?: HostedLoad): Promise<void>;
  /** Has the index show models that could not even be bound, instead of those that it was told before. */
  listBroken(models: readonly RepositoryModel[]): Promise<void>;
  /** Serves a model no more; it is {@link retired} when its last request has ended. */
  unload(config: CompleteModelConfig): Promise<void>;
  /** Resolves when what was replaced or unloaded under a name and version until now has answered its last request. */
  retired(config: CompleteModelConfig): Promise<void>;
  /** All that was bound before serving is loaded. */
  started(): Promise<void>;
  /** Signals that the main thread handles end the process even where that thread is blocked. Idempotent. */
  watchSignals(times: StopTimes): Promise<void>;
  /** Serves on, finishes what is under way, for so many seconds each, and closes. Idempotent. */
  stop(times: StopTimes): Promise<void>;
}

/** What the user's thread does for a server, wherever that is. */
export interface ServerServices {
  readonly tracing?: RequestTracing | undefined;
  /** Gets the log's entries; undefined: they go to the log file or standard error. */
  readonly logger?: ExternalLogger | undefined;
  /** Loads models of a model repository for clients; undefined where there is none. */
  readonly loadFolder?: FoldersOfModels['load'] | undefined;
}

/** The server in the caller's own thread: lowest latency, but a callable that computes stops everything. */
export class LocalServer implements ServerHandle {
  readonly lives = true;
  readonly tracing: RequestTracing | undefined;
  readonly #server: Server;
  readonly #options: ServerOptions;
  #watcher: SignalWatcher | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ServerOptions, { tracing, logger, loadFolder }: ServerServices = {}) {
    this.#options = options;
    this.tracing = tracing;
    const onTraces = (ended: readonly EndedTrace[]) => tracing?.recordEnded(ended, this.logger);
    this.#server = new Server(options, { onTraces, onLog: writeTo(logger), ...(loadFolder && { loadFolder }) });
  }

  get logger(): ServerLogger {
    return this.#server.logger;
  }

  get core(): ServedCore {
    return this.#server.core;
  }

  start(): Promise<ServerPorts> {
    return this.#server.start();
  }

  load(model: HostedModel, { now }: HostedLoad = {}): Promise<void> {
    const source: InstanceSource = {
      open: async (override) => {
        // What a client asked for before may get its turn only now, when the model may be another server's already.
        if (this.#stopping !== undefined)
          throw new TritonError('UNAVAILABLE', 'the server was stopped before the model was loaded');
        return this.#instancesOf(await model.open(override), model);
      },
      onReady: (isReady) => (model.isReady = isReady),
    };
    return this.#server.load(model.config, source, { now });
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

const allocate = (bytes: number): Buffer => largeMemory.ofAnswer(bytes);
