// Assembles the engine and its frontends into the whole server, in any thread.

import { callModel } from '../core/call-model.js';
import { LogSettingsStore } from '../core/engine-logger.js';
import type { FoldersOfModels } from '../core/client-loads.js';
import { InferenceServer } from '../core/inference-server.js';
import { SharedMemoryRegistry } from '../core/shared-memory/shared-memory-registry.js';
import { TritonError } from '../errors.js';
import { AllowedHosts } from '../frontend/allowed-hosts.js';
import type { Frontend } from '../frontend/frontend.js';
import { MountedFrontend } from '../frontend/mounted/mounted-frontend.js';
import { LogTail } from '../frontend/page/log-tail.js';
import { PageService } from '../frontend/page/page-service.js';
import { OpenAiService } from '../frontend/openai/openai-service.js';
import { GrpcFrontend } from '../frontend/grpc/grpc-frontend.js';
import { HttpFrontend, type PortService } from '../frontend/http/http-frontend.js';
import type { FurtherPaths } from '../frontend/http/further-paths.js';
import { HttpService } from '../frontend/http/http-service.js';
import { withOptions } from '../frontend/listen-failure.js';
import { MetricsReport } from '../frontend/metrics/metrics-report.js';
import { MetricsService } from '../frontend/metrics/metrics-service.js';
import { SagemakerService } from '../frontend/sagemaker/sagemaker-service.js';
import { VertexAiService } from '../frontend/vertex-ai/vertex-ai-service.js';
import { afterReading } from '../pacing/after-reading.js';
import { ByteBudget } from '../sockets/byte-budget.js';
import { ConnectionLimit, possibleConnections } from '../sockets/connection-limit.js';
import { OpenFiles } from '../sockets/open-files.js';
import { loadsLeft, roomOf } from './rooms.js';
import type { OpenHttp2Port } from '../http2/http2-port.js';
import { Http2Server } from '../http2/http2-server.js';
import { type LogEntry, type LogSettings, ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { EndedTrace } from '../observability/traces.js';
import { modelNames } from '../repository/model-names.js';
import type { LoadedBefore } from './control-messages.js';
import type { InProcessRun } from '../frontend/served-core.js';
import type { Mount } from './mount.js';
import { type ClosableLogSink, openLogSink } from './log-sink.js';
import { RemoteModels, type ServingServer } from './remote/remote-models.js';
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
import { drain, finishSequences, leave } from './stop-phases.js';
import { loggedWait } from './waiting-log.js';

/** Listeners to events in the server. */
export interface ServerListeners {
  /** Clients changed the log. */
  readonly onLogSettings?: (settings: LogSettings) => void;
  /** Gets the log's entries, which go to the log file or standard error when it is absent. */
  readonly onLog?: ((entry: LogEntry) => void) | undefined;
  /** Traced requests ended without reaching a callable. */
  readonly onTraces?: (ended: readonly EndedTrace[]) => void;
  /** Loads a model of a model repository for a client. */
  readonly loadFolder?: FoldersOfModels['load'];
  /** Handlers in other HTTP servers, which are given a frontend. */
  readonly mount?: Mount | undefined;
}

export interface LoadOptions {
  /** The model's state on a server before this one, if that had it. */
  readonly again?: LoadedBefore | undefined;
  /** A client asked for the load: the model is loaded even in explicit mode. */
  readonly now?: boolean | undefined;
  /** Ends the load. */
  readonly signal?: AbortSignal | undefined;
}

type NamedFrontend = readonly [name: FrontendName, frontend: Frontend];

/** Few clients read metrics, and the server must answer them whatever happens on other ports. */
const METRICS_CONNECTIONS = 32;
/** Of gRPC. */
const LARGEST_MESSAGE = 2_147_483_647;
/** What the results of one batch may have at least. */
const LEAST_LINK_BYTES = 64 << 20;
const NOBODY = (): void => undefined;

export class Server {
  readonly #options: ServerOptions;
  readonly #sink: ClosableLogSink;
  /** Undefined without a page. */
  readonly #tail: LogTail | undefined;
  readonly #logger: ServerLogger;
  #traceFile: TraceFile | undefined;
  readonly #engine: InferenceServer;
  readonly #served: ServedSurroundings = {
    caller: (call, sink) => callModel(this.#engine, call, sink),
    openings: new Set(),
    isEnding: false,
    isOwnerBlocked: false,
  };
  readonly #openFiles: OpenFiles;
  readonly #budget: ByteBudget;
  #frontends: readonly NamedFrontend[] = [];
  readonly #mount: Mount | undefined;
  #mounted: MountedFrontend | undefined;
  #ports: ServerPorts | undefined;
  #vertexAi: VertexAiService | undefined;
  /** Undefined where no other process may bind models. */
  #remote: RemoteModels | undefined;

  /** Throws INVALID_ARG when the log file cannot be opened. */
  constructor(options: ServerOptions, listeners: ServerListeners = {}) {
    const { onLogSettings = NOBODY, onTraces = NOBODY, onLog, loadFolder, mount } = listeners;
    this.#mount = mount;
    this.#options = options;
    this.#sink = openLogSink(options.logFile, onLog);
    const { id, strictReadiness, maskErrors, modelControlMode, allowClientShm, modelRepository } = options;
    this.#budget = new ByteBudget(options.maxInflightBytes);
    this.#tail = options.http?.page === true ? new LogTail() : undefined;
    const logger = (this.#logger = new ServerLogger(this.#tail?.before(this.#sink) ?? this.#sink, options.logSettings));
    this.#openFiles = new OpenFiles({
      onNone: (code) =>
        logger.error(`no more files can be opened (${code}): new connections are closed until some are`),
      onEnough: () => logger.info('files can be opened again: new connections are taken'),
    });
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
      sharedMemory: new SharedMemoryRegistry({ allowed: allowClientShm, room: roomOf(this.#budget, 'shared memory') }),
      countLeft: loadsLeft(this.#budget),
      elementRoom: roomOf(this.#budget, 'elements'),
      tracing: options.tracing && {
        start: options.tracing,
        onEnded: onTraces,
        onRecords: (records) => this.#traceFile?.add(records),
      },
      // The import is late, because a start does not need the tables of protobuf messages.
      readOverride: async (config) => (await import('../protocol/config-override.js')).readConfigOverride(config),
    });
    this.#engine.onStateChange((changed) => {
      for (const { model } of changed) this.#tellReadiness(model.config);
    });
  }

  /** For clients in this thread. */
  get inProcess(): InProcessRun {
    return { core: this.#engine, ...this.#options.inProcess };
  }

  /** An entry that another thread has written to the log. */
  logged(entry: LogEntry): void {
    this.#tail?.add(entry);
  }

  /**
   * Opens all ports. Rejects with UNAVAILABLE naming a port that is taken, and with INVALID_ARG when the trace file cannot be
   * opened; then none is open.
   */
  async start(): Promise<ServerPorts> {
    const server = this.#engine;
    this.#openTraceFile();
    this.#frontends = this.#makeFrontends();
    const started = await Promise.allSettled(this.#frontends.map(([, frontend]) => frontend.start()));
    const failed = started.findIndex((result) => result.status === 'rejected');
    if (failed >= 0) {
      this.#remote?.end();
      await this.#closeFrontends();
      this.#closeFiles();
      throw withOptions(
        TritonError.from((started[failed] as PromiseRejectedResult).reason),
        this.#frontends[failed]![0],
      );
    }
    this.#openFiles.watch();
    if (this.#mount !== undefined) Object.assign(this.#mount, { frontend: this.#mounted, running: this.inProcess });
    const ports: Partial<Record<FrontendName, number>> = {};
    for (const [index, [name]] of this.#frontends.entries()) {
      ports[name] = (started[index] as PromiseFulfilledResult<number>).value;
    }
    // Triton logs them in this order.
    const logged = [...this.#frontends].sort(([a], [b]) => Number(b === 'grpc') - Number(a === 'grpc'));
    for (const [name, frontend] of logged) {
      server.logger.info(`Started ${frontend.name} at ${this.#options[name]!.address}:${ports[name]}`);
    }
    return (this.#ports = ports as ServerPorts);
  }

  /** Makes the frontends that the options ask for. */
  #makeFrontends(): NamedFrontend[] {
    const { http, grpc, metrics, vertexAi, sagemaker } = this.#options;
    const server = this.#engine;
    const { logger } = server;
    const budget = this.#budget;
    const { allowedHosts } = this.#options;
    // Without listed hosts, no request's host is checked.
    const hosts = allowedHosts.length === 0 ? undefined : new AllowedHosts(allowedHosts);
    const limit = new ConnectionLimit(possibleConnections(this.#options.maxConnections));
    const { remoteAccessToken } = this.#options;
    if (grpc !== undefined && remoteAccessToken !== undefined) {
      this.#remote = new RemoteModels(this.#forRemote(), remoteAccessToken);
    }
    const connections = () => this.#frontends.map(([name, frontend]) => [name, frontend.connections] as const);
    if (this.#mount?.isAsked === true) {
      const { mounted } = this.#options;
      const service = new HttpService({ server, ...mounted, further: [new OpenAiService({ server, ...mounted })] });
      this.#mounted = new MountedFrontend({ service, budget, logger, hosts });
    }
    const report = metrics && new MetricsReport({ server, logger, ...metrics, connections });
    this.#vertexAi = vertexAi && new VertexAiService({ server, metrics: report, ...vertexAi });
    const services: Readonly<Record<Exclude<FrontendName, 'grpc'>, PortService | undefined>> = {
      http: http && new HttpService({ server, logger, ...http, further: this.#furtherPaths(http) }),
      metrics: report && new MetricsService(report),
      vertexAi: this.#vertexAi,
      sagemaker: sagemaker && new SagemakerService({ server, ...sagemaker }),
    };
    return FRONTENDS.flatMap((name): NamedFrontend[] => {
      if (name === 'grpc') {
        const openPort: OpenHttp2Port = (port) => new Http2Server(port);
        return grpc === undefined
          ? []
          : [
              [
                name,
                new GrpcFrontend({
                  server,
                  logger,
                  ...grpc,
                  openPort,
                  budget,
                  limit,
                  hosts,
                  links: this.#remote?.methods,
                }),
              ],
            ];
      }
      const service = services[name];
      if (service === undefined) return [];
      const { address, port, tls } = this.#options[name]!;
      const ownLimit = name === 'metrics' ? new ConnectionLimit(METRICS_CONNECTIONS) : limit;
      return [[name, new HttpFrontend(service, { address, port, tls, logger, budget, limit: ownLimit, hosts })]];
    });
  }

  #forRemote(): ServingServer {
    const { models, repository } = this.#engine;
    return {
      logger: this.#logger,
      maxMessageBytes: Math.min(LARGEST_MESSAGE, Math.max(LEAST_LINK_BYTES, this.#options.maxInflightBytes)),
      load: (config, source, signal) => this.#serve(config, source, { signal }),
      unload: (config) => this.unload(config),
      retired: (config) => this.retired(config),
      has: ({ name, version }) => models.has(name, version),
      isIdle: (connections) =>
        repository.runningModels().every(({ inflight }) => inflight === 0) &&
        this.#allFrontends.reduce((sum, { underWay, awaited }) => sum + underWay + awaited, 0) <= connections,
    };
  }

  /** What the HTTP port serves beside Triton's protocol. */
  #furtherPaths(http: NonNullable<ServerOptions['http']>): FurtherPaths[] {
    const server = this.#engine;
    const openai = new OpenAiService({ server, ...http });
    if (!http.page) return [openai];
    const { restrictions } = http;
    const log = this.#tail!;
    return [openai, new PageService({ server, restrictions, log, grpcPort: () => this.#ports?.grpc })];
  }

  #closeFrontends(): Promise<unknown> {
    if (this.#mount?.running?.core === this.#engine)
      Object.assign(this.#mount, { frontend: undefined, running: undefined });
    return Promise.all(this.#allFrontends.map((frontend) => frontend.close()));
  }

  get #allFrontends(): readonly Frontend[] {
    const frontends = this.#frontends.map(([, frontend]) => frontend);
    return this.#mounted === undefined ? frontends : [...frontends, this.#mounted];
  }

  /**
   * Called when everything bound before the start is known: the server may become ready. Rejects with INTERNAL when
   * `loadModel` names a model that is not bound, and with INVALID_ARG when Vertex AI has no model to predict with.
   */
  async started(): Promise<void> {
    const { models } = this.#engine;
    const isKnown = (name: string) =>
      name === '*' || models.has(name) || models.broken.some((broken) => broken.name === name);
    // Other processes may bind it later.
    const isOpen = this.#remote !== undefined;
    const missing = isOpen ? undefined : this.#options.loadModel.find((name) => !isKnown(name));
    if (missing !== undefined) {
      throw new TritonError('INTERNAL', `failed to load '${missing}', failed to poll from model repository`);
    }
    await this.#vertexAi?.started();
    this.#engine.started();
  }

  /**
   * Serves a model; in explicit mode only when `loadModel` names it, or once a client loads it. It replaces a served
   * version, which is {@link retired} when its last request has ended. When the start fails, it rejects with the
   * reason, and the served version stays.
   */
  async load(config: CompleteModelConfig, source: InstanceSource, options: LoadOptions = {}): Promise<void> {
    if (this.#remote?.has(config) === true) {
      const message = `model '${config.name}' version ${config.version} is bound by another process`;
      throw new TritonError('ALREADY_EXISTS', message);
    }
    await this.#serve(config, source, options);
  }

  async #serve(config: CompleteModelConfig, source: InstanceSource, options: LoadOptions): Promise<void> {
    const model = new ServedModel(config, source, this.#served);
    try {
      await this.#load(model, options);
    } finally {
      // Readiness is reported before the load resolves.
      this.#tellReadiness(config);
    }
  }

  async #load(model: ServedModel, { again, now = false, signal }: LoadOptions): Promise<void> {
    const { models } = this.#engine;
    const { config } = model;
    const load = { isClients: now, signal };
    if (models.has(config.name, config.version)) {
      await models.replace(model, load);
      if (now) await models.loadVersion(config.name, config.version, load);
      await this.#reapplyVersionPolicy(config);
      return;
    }
    models.bind(model);
    if (again !== undefined) {
      // Its instances are alive and warmed up.
      const loaded = { ...(again.override ?? config), modelWarmup: [] };
      if (again.isLoaded) await models.loadVersion(config.name, config.version, { config: loaded, signal });
      return;
    }
    const { modelControlMode, loadModel } = this.#options;
    if (now) await models.loadVersion(config.name, config.version, load);
    else if (modelControlMode !== 'explicit' || loadModel.includes('*') || loadModel.includes(config.name))
      await models.applyVersionPolicy(config.name, config.version, load);
  }

  /** The user's thread is blocked, or is not any more. */
  ownerBlocked(isBlocked: boolean): void {
    const thread = 'the thread that the server was started in';
    if (isBlocked) this.#logger.warn(`${thread} is blocked: models that run in it are not ready until it goes on`);
    else this.#logger.info(`${thread} goes on`);
    this.#served.isOwnerBlocked = isBlocked;
    for (const opening of this.#served.openings) opening.ownerBlocked(isBlocked);
  }

  #tellReadiness(config: CompleteModelConfig): void {
    const { models } = this.#engine;
    (models.bound(config) as ServedModel | undefined)?.tell(models.isReady(config));
  }

  /**
   * Applies the version policy, because the highest version may have changed. In explicit mode the next load applies
   * it.
   */
  async #reapplyVersionPolicy({ name, version }: CompleteModelConfig): Promise<void> {
    if (this.#options.modelControlMode !== 'explicit') await this.#engine.models.applyVersionPolicy(name, version);
  }

  /** Shows models that could not be bound in the index, in place of the models of the last call. */
  listBroken(models: readonly RepositoryModel[]): void {
    this.#engine.models.broken = models;
  }

  /** Resolves when the models that were replaced or unloaded so far have answered their last requests. */
  retired(config: CompleteModelConfig): Promise<void> {
    return this.#engine.models.retired(config);
  }

  /** Stops serving a model, which is {@link retired} when its last request has ended. */
  async unload(config: CompleteModelConfig): Promise<void> {
    await this.#engine.models.unbind(config.name, config.version);
    await this.#reapplyVersionPolicy(config);
  }

  #openTraceFile(): void {
    const { tracing } = this.#options;
    if (tracing?.mode !== 'triton') return;
    try {
      this.#traceFile = new TraceFile(tracing.file, this.#logger);
    } catch (error) {
      this.#closeFiles();
      throw error;
    }
  }

  #closeFiles(): void {
    this.#openFiles.close();
    this.#traceFile?.close();
    this.#sink.close();
  }

  /** The log that callables in this thread write to. */
  get logger(): ServerLogger {
    return this.#logger;
  }

  /**
   * Serves on for a while without being ready; see {@link leave}. Live sequences and then requests under way have
   * `timeoutSecs` to finish to the last byte of their answers, and fail with UNAVAILABLE afterwards. Closes all ports.
   */
  async stop(times: StopTimes): Promise<void> {
    this.#engine.models.end();
    const frontends = this.#allFrontends;
    const served = { engine: this.#engine, frontends, logger: this.#logger };
    await leave(served, times);
    this.#served.isEnding = true;
    const leftSecs = await finishSequences(served, times.timeoutSecs);
    for (const frontend of frontends) frontend.drain();
    this.#remote?.drain();
    // Requests that have arrived but were not read yet are served.
    await new Promise<void>(afterReading);
    await drain(served, leftSecs);
    this.#engine.stop();
    this.#remote?.end();
    for (const opening of this.#served.openings) opening.endInstances();
    await loggedWait(this.#closeFrontends(), this.#logger, 'connections to close');
    this.#engine.sharedMemory.close();
    this.#engine.logger.info('Server stopped');
    this.#closeFiles();
  }
}
