// The engine and its frontends, assembled: the whole server, in whatever thread it is started.

import { callModel } from '../core/call-model.js';
import { LogSettingsStore } from '../core/engine-logger.js';
import { type FoldersOfModels, InferenceServer } from '../core/inference-server.js';
import { SharedMemoryRegistry } from '../core/shared-memory/shared-memory-registry.js';
import { TritonError } from '../errors.js';
import { AllowedHosts } from '../frontend/allowed-hosts.js';
import type { Frontend } from '../frontend/frontend.js';
import { GrpcFrontend } from '../frontend/grpc/grpc-frontend.js';
import { HttpPort, type PortService } from '../frontend/http/http-port.js';
import { HttpService } from '../frontend/http/http-service.js';
import type { ServedCore } from '../frontend/served-core.js';
import { withOptions } from '../frontend/listen-failure.js';
import { MetricsReport } from '../frontend/metrics/metrics-report.js';
import { MetricsService } from '../frontend/metrics/metrics-service.js';
import { SagemakerService } from '../frontend/sagemaker/sagemaker-service.js';
import { VertexAiService } from '../frontend/vertex-ai/vertex-ai-service.js';
import { afterReading } from '../sockets/after-reading.js';
import { ByteBudget } from '../sockets/byte-budget.js';
import { ConnectionLimit, possibleConnections } from '../sockets/connection-limit.js';
import { OpenFiles } from '../sockets/open-files.js';
import { regionRoom } from './region-room.js';
import type { OpenHttp2Port } from '../http2/http2-port.js';
import { Http2Server } from '../http2/http2-server.js';
import { type LogEntry, type LogSettings, ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { EndedTrace } from '../model/traces.js';
import { modelNames } from '../repository/model-names.js';
import type { LoadedBefore } from './control-messages.js';
import { type ClosableLogSink, openLogSink } from './log-sink.js';
import { type InstanceSource, ServedModel } from './served-model.js';
import type { ServedSurroundings } from './served-opening.js';
import {
  type FrontendName,
  FRONTENDS,
  type ServerOptions,
  type ServerPorts,
  type StopTimes,
} from './server-options.js';
import { TraceFile } from './trace-file.js';
import { VERSION } from './version.js';
import { drain, leave } from './stop-phases.js';
import { loggedWait } from './waiting-log.js';

/** Who wants to know what happens in the server. */
export interface ServerListeners {
  /** Clients changed the log. */
  readonly onLogSettings?: (settings: LogSettings) => void;
  /** Gets the log's entries, which go to the log file or standard error when it is absent. */
  readonly onLog?: ((entry: LogEntry) => void) | undefined;
  /** Traced requests ended without reaching a callable. */
  readonly onTraces?: (ended: readonly EndedTrace[]) => void;
  /** A client wants a model of a model repository to be loaded. */
  readonly loadFolder?: FoldersOfModels['load'];
}

/** How a model is loaded that is to be served. */
export interface LoadOptions {
  /** Where a server before this one had it: as it was there. */
  readonly again?: LoadedBefore | undefined;
  /** A client asked for it: it is loaded, though where clients load models it would only be known. */
  readonly now?: boolean | undefined;
}

type NamedFrontend = readonly [name: FrontendName, frontend: Frontend];

/** Few read metrics, and they are to be served whatever happens on other ports. */
const METRICS_CONNECTIONS = 32;
const NOBODY = (): void => undefined;

export class Server {
  readonly #options: ServerOptions;
  readonly #sink: ClosableLogSink;
  readonly #logger: ServerLogger;
  readonly #traceFile: TraceFile | undefined;
  readonly #engine: InferenceServer;
  readonly #served: ServedSurroundings = {
    caller: (call, receiver) => callModel(this.#engine, call, receiver),
    openings: new Set(),
    isEnding: false,
    isOwnerBlocked: false,
  };
  readonly #openFiles: OpenFiles;
  readonly #budget: ByteBudget;
  #frontends: readonly NamedFrontend[] = [];
  #vertexAi: VertexAiService | undefined;

  /** Throws INVALID_ARG when the log file cannot be opened. */
  constructor(options: ServerOptions, listeners: ServerListeners = {}) {
    const { onLogSettings = NOBODY, onTraces = NOBODY, onLog, loadFolder } = listeners;
    this.#options = options;
    this.#sink = openLogSink(options.logFile, onLog);
    const { id, strictReadiness, maskErrors, modelControlMode, allowClientShm, modelRepository } = options;
    this.#budget = new ByteBudget(options.maxInflightBytes);
    const logger = (this.#logger = new ServerLogger(this.#sink, options.logSettings));
    this.#openFiles = new OpenFiles({
      onNone: (code) =>
        logger.error(`no more files can be opened (${code}): new connections are closed until some are`),
      onEnough: () => logger.info('files can be opened again: new connections are taken'),
    });
    const { tracing } = options;
    this.#traceFile = tracing?.mode === 'triton' ? new TraceFile(tracing.file, logger) : undefined;
    this.#engine = new InferenceServer({
      name: id,
      version: VERSION,
      logger,
      strictReadiness,
      maskErrors,
      modelControlMode,
      folders:
        loadFolder === undefined || modelRepository.length === 0
          ? undefined
          : { load: loadFolder, names: () => modelNames(modelRepository) },
      responseCacheByteSize: options.responseCacheByteSize,
      summaries: options.metrics?.summaries,
      logSettings: new LogSettingsStore(logger, options.logFile ?? '', onLogSettings),
      sharedMemory: new SharedMemoryRegistry({ allowed: allowClientShm, room: regionRoom(this.#budget) }),
      tracing: options.tracing && {
        start: options.tracing,
        onEnded: onTraces,
        onRecords: (records) => this.#traceFile?.add(records),
      },
      // A start needs no tables of protobuf messages.
      readOverride: async (config) => (await import('../protocol/config-override.js')).readConfigOverride(config),
    });
    this.#engine.onStateChange(() => this.#tellReadiness());
  }

  /** The engine as frontends see it. */
  get core(): ServedCore {
    return this.#engine;
  }

  /** Opens all ports. Rejects with UNAVAILABLE naming a port that is taken; then none is open. */
  async start(): Promise<ServerPorts> {
    const server = this.#engine;
    this.#frontends = this.#makeFrontends();
    const started = await Promise.allSettled(this.#frontends.map(([, frontend]) => frontend.start()));
    const failed = started.findIndex((result) => result.status === 'rejected');
    if (failed >= 0) {
      await this.#closeFrontends();
      this.#closeFiles();
      throw withOptions(
        TritonError.from((started[failed] as PromiseRejectedResult).reason),
        this.#frontends[failed]![0],
      );
    }
    this.#openFiles.watch();
    const ports: Partial<Record<FrontendName, number>> = {};
    for (const [index, [name]] of this.#frontends.entries()) {
      ports[name] = (started[index] as PromiseFulfilledResult<number>).value;
    }
    // In the order in which Triton logs them.
    const logged = [...this.#frontends].sort(([a], [b]) => Number(b === 'grpc') - Number(a === 'grpc'));
    for (const [name, frontend] of logged) {
      server.logger.info(`Started ${frontend.name} at ${this.#options[name]!.address}:${ports[name]}`);
    }
    return ports as ServerPorts;
  }

  /** Those that the options ask for. */
  #makeFrontends(): NamedFrontend[] {
    const { http, grpc, metrics, vertexAi, sagemaker } = this.#options;
    const server = this.#engine;
    const { logger } = server;
    const budget = this.#budget;
    const { allowedHosts } = this.#options;
    // Where all are answered, no request is asked for its host.
    const hosts = allowedHosts.length === 0 ? undefined : new AllowedHosts(allowedHosts);
    const limit = new ConnectionLimit(possibleConnections(this.#options.maxConnections));
    const connections = () => this.#frontends.map(([name, frontend]) => [name, frontend.connections] as const);
    const report = metrics && new MetricsReport({ server, logger, ...metrics, connections });
    this.#vertexAi = vertexAi && new VertexAiService({ server, metrics: report, ...vertexAi });
    const services: Readonly<Record<Exclude<FrontendName, 'grpc'>, PortService | undefined>> = {
      http: http && new HttpService({ server, ...http }),
      metrics: report && new MetricsService(report),
      vertexAi: this.#vertexAi,
      sagemaker: sagemaker && new SagemakerService({ server, ...sagemaker }),
    };
    return FRONTENDS.flatMap((name): NamedFrontend[] => {
      if (name === 'grpc') {
        const openPort: OpenHttp2Port = (port) => new Http2Server(port);
        return grpc === undefined
          ? []
          : [[name, new GrpcFrontend({ server, logger, ...grpc, openPort, budget, limit, hosts })]];
      }
      const service = services[name];
      if (service === undefined) return [];
      const { address, port, tls } = this.#options[name]!;
      const ownLimit = name === 'metrics' ? new ConnectionLimit(METRICS_CONNECTIONS) : limit;
      return [[name, new HttpPort(service, { address, port, tls, logger, budget, limit: ownLimit, hosts })]];
    });
  }

  #closeFrontends(): Promise<unknown> {
    return Promise.all(this.#frontends.map(([, frontend]) => frontend.close()));
  }

  /**
   * Everything that was bound before serving is known: the server may be ready. Rejects with INTERNAL when `loadModel` names
   * a model that is not bound, INVALID_ARG when Vertex AI has no model to predict with.
   */
  async started(): Promise<void> {
    const { models } = this.#engine;
    const isKnown = (name: string) =>
      name === '*' || models.has(name) || models.broken.some((broken) => broken.name === name);
    const missing = this.#options.loadModel.find((name) => !isKnown(name));
    if (missing !== undefined) {
      throw new TritonError('INTERNAL', `failed to load '${missing}', failed to poll from model repository`);
    }
    await this.#vertexAi?.started();
    this.#engine.started();
  }

  /**
   * Serves a model; in explicit mode only when it is to be loaded from the start, or once a client loads it. A version
   * that is there is replaced, and {@link retired} when its last request has ended. Rejects with what starting it failed with; a
   * version that was to be replaced stays then.
   */
  async load(config: CompleteModelConfig, source: InstanceSource, { again, now }: LoadOptions = {}): Promise<void> {
    const model = new ServedModel(config, source, this.#served);
    try {
      await this.#load(model, { again, now });
    } finally {
      // Whoever waits for the load finds the model ready, or not.
      this.#tellReadiness();
    }
  }

  async #load(model: ServedModel, { again, now = false }: LoadOptions): Promise<void> {
    const { models } = this.#engine;
    const { config } = model;
    if (models.has(config.name, config.version)) {
      await models.replace(model);
      if (now) await models.loadVersion(config.name, config.version);
      await this.#reapplyVersionPolicy(config);
      return;
    }
    models.bind(model);
    if (again !== undefined) {
      // Its instances live, and are warm.
      const loaded = { ...(again.override ?? config), modelWarmup: [] };
      if (again.isLoaded) await models.loadVersion(config.name, config.version, loaded);
      return;
    }
    const { modelControlMode, loadModel } = this.#options;
    if (now) await models.loadVersion(config.name, config.version);
    else if (modelControlMode !== 'explicit' || loadModel.includes('*') || loadModel.includes(config.name))
      await models.applyVersionPolicy(config.name, config.version);
  }

  /** The user's thread is blocked, or is not any more. */
  ownerBlocked(isBlocked: boolean): void {
    const thread = 'the thread that the server was started in';
    if (isBlocked) this.#logger.warn(`${thread} is blocked: models that run in it are not ready until it goes on`);
    else this.#logger.info(`${thread} goes on`);
    this.#served.isOwnerBlocked = isBlocked;
    for (const opening of this.#served.openings) opening.ownerBlocked(isBlocked);
  }

  #tellReadiness(): void {
    for (const [model, isReady] of this.#engine.models.readiness()) (model as ServedModel).tell(isReady);
  }

  /** The highest version's policy may be another one now. Where clients load models, it waits until they do. */
  async #reapplyVersionPolicy({ name, version }: CompleteModelConfig): Promise<void> {
    if (this.#options.modelControlMode !== 'explicit') await this.#engine.models.applyVersionPolicy(name, version);
  }

  /** Has the index show models that could not even be bound, instead of those that it was told before. */
  listBroken(models: readonly RepositoryModel[]): void {
    this.#engine.models.broken = models;
  }

  /** Resolves when what was replaced or unloaded until now has answered its last request. */
  retired(config: CompleteModelConfig): Promise<void> {
    return this.#engine.models.retired(config);
  }

  /** Serves a model no more; it is {@link retired} when its last request has ended. */
  async unload(config: CompleteModelConfig): Promise<void> {
    await this.#engine.models.unbind(config.name, config.version);
    await this.#reapplyVersionPolicy(config);
  }

  /** The log that callables in this thread write to. */
  #closeFiles(): void {
    this.#openFiles.close();
    this.#traceFile?.close();
    this.#sink.close();
  }

  get logger(): ServerLogger {
    return this.#logger;
  }

  /**
   * Serves on for a while, though it is not ready any more; see {@link leave}. For `timeoutSecs` requests under way finish to the
   * last byte of their answers; then they fail with UNAVAILABLE. Closes all ports.
   */
  async stop(times: StopTimes): Promise<void> {
    this.#engine.models.isEnding = true;
    const frontends = this.#frontends.map(([, frontend]) => frontend);
    const served = { engine: this.#engine, frontends, logger: this.#logger };
    await leave(served, times);
    this.#served.isEnding = true;
    for (const frontend of frontends) frontend.drain();
    // Requests that have come and were not read yet are served.
    await new Promise<void>(afterReading);
    await drain(served, times.timeoutSecs);
    this.#engine.stop();
    for (const opening of this.#served.openings) opening.endInstances();
    await loggedWait(this.#closeFrontends(), this.#logger, 'connections to close');
    this.#engine.sharedMemory.close();
    this.#engine.logger.info('Server stopped');
    this.#closeFiles();
  }
}
