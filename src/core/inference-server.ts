// The engine: what every frontend calls. It knows models, requests and their states, and no protocol.

import { invalidArg, TritonError } from '../errors.js';
import { ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest } from '../model/exchange.js';
import type { ModelStatistics } from '../model/model-statistics.js';
import type { TraceSettings, TraceStart, TraceUpdate } from '../model/traces.js';
import { ResponseCache } from './cache/response-cache.js';
import { type EngineLogger, LogSettingsStore } from './engine-logger.js';
import { errorMask } from './error-mask.js';
import type { TargetQuantile } from './metrics/quantile-sketch.js';
import { type ConfigOverride, ModelControl, type ModelControlMode } from './model-control.js';
import type { ResolvedModel } from './model-entry.js';
import { ModelRepository } from './model-repository.js';
import { parseModelVersion, serverStopping } from './refusals.js';
import type { RequestTrace } from './request-trace.js';
import { RequestTraces, type TraceListeners } from './request-traces.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';
import { SharedMemoryRegistry } from './shared-memory/shared-memory-registry.js';
import { TraceSettingsStore } from './trace-settings.js';

export interface InferenceServerOptions {
  /** What server metadata reports as the server's name. */
  readonly name: string;
  readonly version: string;
  readonly logger: EngineLogger;
  /** Bytes of the response cache; undefined for none. */
  readonly responseCacheByteSize?: number | undefined;
  /** The quantiles of Triton's summaries; undefined for no summaries. */
  readonly summaries?: readonly TargetQuantile[] | undefined;
  /** Whether a model that is not ready keeps the server from being ready. Default true. */
  readonly strictReadiness?: boolean;
  /** Whether clients are not told what callables failed with. Default false. */
  readonly maskErrors?: boolean;
  /** Whether clients may load and unload models. Default `none`. */
  readonly modelControlMode?: ModelControlMode;
  /** What the logging extension reads and changes. Default: the settings of a log that nobody reads. */
  readonly logSettings?: LogSettingsStore;
  /** The shared memory that clients register. Default: they may not. */
  readonly sharedMemory?: SharedMemoryRegistry;
  /** Reads the configuration that a client gives for a load. Default: clients give none. */
  readonly readOverride?: (config: string) => Promise<ConfigOverride>;
  /** The model repository, where there is one. */
  readonly folders?: FoldersOfModels | undefined;
  /** Default: nothing is traced. */
  readonly tracing?: TracingOptions | undefined;
}

/** Models that lie in folders, and are bound when they are to be loaded. */
export interface FoldersOfModels {
  /** Names of all models, loaded or not. */
  names(): readonly string[];
  /**
   * Loads a model as it lies in its folder now, with what the client gives in place of that; `ready` are the versions that are. False
   * when no folder has it. Rejects as {@link ModelControl.load} does.
   */
  load(name: string, parameters: LoadParameters, ready: readonly string[]): Promise<boolean>;
}

/** What a client says of a load. */
export interface LoadParameters {
  /** The configuration that counts instead of the bound one, as its text. */
  readonly config?: string | undefined;
  /** By the parameters' names, `file:1/model.onnx`; undefined where the bytes could not be read. */
  readonly files: Readonly<Record<string, Uint8Array | undefined>>;
}

export interface TracingOptions extends TraceListeners {
  readonly start: TraceStart;
}

/** Extensions of the protocol that are always served, as server metadata names them. */
const EXTENSIONS = [
  'classification',
  'model_repository',
  'model_repository(unload_dependents)',
  'schedule_policy',
  'model_configuration',
  'system_shared_memory',
  'binary_tensor_data',
  'parameters',
  'statistics',
  'trace',
  'logging',
];

const NOTHING_TO_CANCEL: InflightRequest = { cancel: () => undefined };

export class InferenceServer {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
  readonly repository: ModelRepository;
  readonly models: ModelControl;
  readonly logger: EngineLogger;
  readonly logSettings: LogSettingsStore;
  readonly sharedMemory: SharedMemoryRegistry;
  readonly cache: ResponseCache | undefined;
  readonly #traceSettings: TraceSettingsStore;
  readonly #traces: RequestTraces | undefined;
  readonly #readOverride: InferenceServerOptions['readOverride'];
  readonly #folders: FoldersOfModels | undefined;
  readonly #strictReadiness: boolean;
  readonly #listeners = new Set<() => void>();
  #telling = false;
  #state: 'starting' | 'ready' | 'leaving' | 'exiting' = 'starting';

  constructor(options: InferenceServerOptions) {
    const { name, version, logger, strictReadiness = true, modelControlMode: mode = 'none' } = options;
    this.name = name;
    this.version = version;
    this.logger = logger;
    const { responseCacheByteSize: size, summaries, maskErrors = false } = options;
    const mask = maskErrors ? errorMask(logger) : undefined;
    this.cache = size === undefined ? undefined : new ResponseCache(size);
    this.repository = new ModelRepository({ logger, mask, cache: this.cache, summaries }, () => this.#changed());
    this.#readOverride = options.readOverride;
    this.#strictReadiness = strictReadiness;
    const { folders } = options;
    this.#folders = folders;
    // Where clients load no models, all of them are bound.
    const loadable = mode === 'explicit' && folders !== undefined ? () => folders.names() : undefined;
    this.models = new ModelControl(this.repository, { mode, logger, loadable });
    this.logSettings = options.logSettings ?? unreadLog();
    this.sharedMemory = options.sharedMemory ?? new SharedMemoryRegistry({ allowed: false });
    const { tracing } = options;
    this.#traceSettings = new TraceSettingsStore(tracing?.start);
    this.#traces = tracing && new RequestTraces(this.#traceSettings, tracing);
    this.extensions = EXTENSIONS.filter((name) => name !== 'system_shared_memory' || this.sharedMemory.allowed);
  }

  /** Everything was bound that was to be bound before serving. */
  started(): void {
    if (this.#state !== 'starting') return;
    this.#state = 'ready';
    this.#changed();
  }

  /** Calls back soon after anything changed that readiness depends on, until the function that this gives is called. */
  onStateChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // The listeners are called once for several changes that belong together.
  #changed(): void {
    if (this.#telling || this.#listeners.size === 0) return;
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      for (const listener of this.#listeners) listener();
    });
  }

  get live(): boolean {
    return this.#state !== 'exiting';
  }

  get exiting(): boolean {
    return this.#state === 'exiting';
  }

  /** True when the server has started, does not stop, and every model is ready, unless that does not matter. */
  isReady(): boolean {
    if (this.#state !== 'ready') return false;
    return !this.#strictReadiness || (this.repository.allReady && this.models.broken.length === 0);
  }

  /** Version '' asks for any. Unknown names and versions are not ready. Throws INVALID_ARG for a malformed version. */
  isModelReady(name: string, version: string): boolean {
    parseModelVersion(version);
    if (this.#isEnding) return false;
    try {
      this.repository.get(name, version);
      return true;
    } catch {
      return false;
    }
  }

  /** The configuration and the versions to report. Throws NOT_FOUND, UNAVAILABLE or INVALID_ARG. */
  modelMetadata(
    name: string,
    version: string,
  ): { readonly config: CompleteModelConfig; readonly versions: readonly string[] } {
    const { config } = this.#found(() => this.repository.get(name, version));
    return { config, versions: version === '' ? this.repository.readyVersions(name) : [String(config.version)] };
  }

  /** The model that a request is decoded for and then runs on. Throws NOT_FOUND, UNAVAILABLE or INVALID_ARG. */
  resolve(name: string, version: string): ResolvedModel {
    return this.#found(() => this.repository.resolve(name, version));
  }

  // Before everything is bound nobody knows what there will be: clients try again after UNAVAILABLE, not after NOT_FOUND. In
  // Triton's words, whose ports refuse all that comes so early.
  #found<T>(find: () => T): T {
    try {
      return find();
    } catch (error) {
      if (this.#state !== 'starting' || TritonError.from(error).code !== 'NOT_FOUND') throw error;
      throw new TritonError('UNAVAILABLE', 'Server not ready', { cause: error });
    }
  }

  /** Throws as {@link resolve} does. */
  modelConfig(name: string, version: string): CompleteModelConfig {
    return this.resolve(name, version).config;
  }

  /** Whether a load of a model still takes requests. */
  serves(load: number): boolean {
    return this.repository.loaded(load) !== undefined;
  }

  /** Statistics of the ready versions asked for; '' asks for all. Throws INVALID_ARG for unknown ones, as Triton does. */
  statistics(name: string, version: string): readonly ModelStatistics[] {
    const number = parseModelVersion(version);
    const ready = this.repository.entries().filter(({ isReady }) => isReady);
    const named = name === '' ? ready : ready.filter(({ model }) => model.config.name === name);
    if (named.length === 0 && name !== '') throw invalidArg(`requested model '${name}' is not available`);
    const chosen =
      number === undefined || name === '' ? named : named.filter(({ model }) => model.config.version === number);
    if (chosen.length === 0 && name !== '') {
      throw invalidArg(`requested model version is not available for model '${name}'`);
    }
    return chosen.map(({ model }) => model.statistics.report(model.config.name, String(model.config.version)));
  }

  /**
   * Loads a model for a client, from its folder where it has one, with another configuration than it has where the client gives
   * one. Rejects with UNSUPPORTED when the client brings files for a model without a folder: it is a function that was bound, and
   * does not come over the wire; otherwise as {@link ModelControl.load}.
   */
  async loadModel(name: string, parameters: LoadParameters): Promise<void> {
    const { config, files } = parameters;
    if (this.#folders !== undefined) {
      this.models.checkLoad(name);
      if (await this.#folders.load(name, parameters, this.repository.readyVersions(name))) return;
    }
    const override = config === undefined ? undefined : await this.#readOverride?.(config);
    const [file] = Object.keys(files);
    if (file !== undefined) {
      throw new TritonError(
        'UNSUPPORTED',
        `load parameter '${file}' is not supported: model '${name}' is what was bound under that name`,
      );
    }
    await this.models.load(name, override && ((bound) => this.#checkCache(override(bound))));
  }

  #checkCache(config: CompleteModelConfig): CompleteModelConfig {
    if (!config.responseCache || this.cache !== undefined) return config;
    throw invalidArg(
      `Invalid config override: model '${config.name}' asks for the response cache, and the server has none`,
    );
  }

  /** The trace settings that count for a model; of the server when the name is ''. Throws INVALID_ARG for models that are not ready. */
  traceSettings(model: string): TraceSettings {
    this.#checkTraced(model);
    return this.#traceSettings.get(model);
  }

  /** Changes trace settings and tells the result. Throws INVALID_ARG. */
  updateTraceSettings(model: string, update: TraceUpdate): TraceSettings {
    this.#checkTraced(model);
    return this.#traceSettings.update(model, update);
  }

  #checkTraced(model: string): void {
    if (model !== '' && this.repository.readyVersions(model).length === 0)
      throw invalidArg(`Request for unknown model : ${model}`);
  }

  /** Whether requests may be traced: those who send them say then which trace they are in. */
  get traces(): boolean {
    return this.#traces !== undefined;
  }

  /** Runs a request, on the `load` of a model that it was completed for. Never throws: whatever is wrong goes to the sink, possibly before this returns. */
  infer(request: ModelInferRequest, sink: ResponseSink, load?: number): InflightRequest {
    let trace: RequestTrace | undefined;
    try {
      const { modelName, modelVersion } = request;
      const resolved = load === undefined ? undefined : this.repository.loaded(load);
      const model = resolved ?? this.#found(() => this.repository.get(modelName, modelVersion));
      if (this.#state === 'exiting') throw serverStopping(request.id);
      trace = this.#traces?.begin(request, model.config.version);
      return model.infer(request, sink, trace);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      trace?.refused(error);
      sink.fail(error);
      return NOTHING_TO_CANCEL;
    }
  }

  /** Not ready any more, while it goes on serving: load balancers send their requests elsewhere from now on. */
  leave(): void {
    if (this.#isEnding) return;
    this.#state = 'leaving';
    this.#changed();
  }

  get #isEnding(): boolean {
    return this.#state === 'leaving' || this.#state === 'exiting';
  }

  /** Not ready and not live any more; resolves when no request is under way. */
  drain(): Promise<unknown> {
    this.#state = 'exiting';
    this.#changed();
    return Promise.all(this.repository.runningModels().map((model) => model.drain()));
  }

  /** Fails whatever still waits or runs. */
  stop(): void {
    this.#state = 'exiting';
    for (const model of this.repository.runningModels()) model.stop(new TritonError('UNAVAILABLE', 'Server exiting'));
    this.#traces?.flush();
  }
}

function unreadLog(): LogSettingsStore {
  return new LogSettingsStore(new ServerLogger({ write: () => undefined }), '', () => undefined);
}
