// The engine: what every frontend calls. It knows models, requests and their states, and no protocol.

import { invalidArg, TritonError } from '../errors.js';
import { ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest } from '../model/exchange.js';
import type { ModelStatistics } from '../model/model-statistics.js';
import type { TraceSettings, TraceStart, TraceUpdate } from '../observability/traces.js';
import { ResponseCache } from './cache/response-cache.js';
import { ClientLoads, type FoldersOfModels, type LoadingClient, type LoadParameters } from './client-loads.js';
import { type EngineLogger, LogSettingsStore } from './engine-logger.js';
import { errorMask } from './error-mask.js';
import type { TargetQuantile } from './metrics/quantile-sketch.js';
import type { Model } from './model.js';
import { type ConfigOverride, ModelControl, type ModelControlMode } from './model-control.js';
import type { ModelEntry, ResolvedModel } from './model-entry.js';
import type { ModelVersion } from './model-routes.js';
import { ModelRepository } from './model-repository.js';
import { parseModelVersion } from './refusals.js';
import type { RequestTrace } from './scheduler/request-trace.js';
import { RequestTraces, type TraceListeners } from './request-traces.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';
import type { Room } from './room.js';
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
  /** Room for the elements of BYTES inputs. Default: any amount. */
  readonly elementRoom?: Room | undefined;
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
  /** Counts bytes of loads whose clients have left, see {@link ClientLoadsOptions.countLeft}. Default: nobody counts them. */
  readonly countLeft?: ((bytes: number) => void) | undefined;
  /** Default: nothing is traced. */
  readonly tracing?: TracingOptions | undefined;
}

export interface TracingOptions extends TraceListeners {
  readonly start: TraceStart;
}

/** Extensions of the protocol that are always served, as server metadata names them. */
const EXTENSIONS = [
  'classification',
  'sequence',
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
  /** Whether requests may be traced: frontends say then which trace they are in. */
  readonly traces: boolean;
  readonly #traces: RequestTraces | undefined;
  readonly #loads: ClientLoads;
  readonly #strictReadiness: boolean;
  readonly #listeners = new Set<(changed: ReadonlySet<ModelEntry>) => void>();
  /** Versions that have changed, until the listeners are called; undefined when nothing has. */
  #changes: Set<ModelEntry> | undefined;
  #state: 'starting' | 'ready' | 'leaving' | 'finishing' | 'exiting' = 'starting';

  constructor(options: InferenceServerOptions) {
    const { name, version, logger, strictReadiness = true, modelControlMode: mode = 'none' } = options;
    this.name = name;
    this.version = version;
    this.logger = logger;
    const { responseCacheByteSize: size, summaries, elementRoom, maskErrors = false } = options;
    const mask = maskErrors ? errorMask(logger) : undefined;
    this.cache = size === undefined ? undefined : new ResponseCache(size);
    this.repository = new ModelRepository({ logger, mask, cache: this.cache, summaries, elementRoom }, (entry) =>
      this.#changed(entry),
    );
    this.#strictReadiness = strictReadiness;
    const { folders } = options;
    // Where clients load no models, all of them are bound.
    const loadable = mode === 'explicit' && folders !== undefined ? () => folders.names() : undefined;
    this.models = new ModelControl(this.repository, { mode, logger, loadable });
    this.#loads = new ClientLoads({
      repository: this.repository,
      models: this.models,
      folders,
      readOverride: options.readOverride,
      hasCache: this.cache !== undefined,
      countLeft: options.countLeft,
    });
    this.logSettings = options.logSettings ?? unreadLog();
    this.sharedMemory = options.sharedMemory ?? new SharedMemoryRegistry({ allowed: false });
    const { tracing } = options;
    this.#traceSettings = new TraceSettingsStore(tracing?.start);
    this.traces = tracing !== undefined;
    this.#traces = tracing && new RequestTraces(this.#traceSettings, tracing);
    this.extensions = EXTENSIONS.filter((name) => name !== 'system_shared_memory' || this.sharedMemory.allowed);
  }

  /** Everything was bound that was to be bound before serving. */
  started(): void {
    if (this.#state !== 'starting') return;
    this.#state = 'ready';
    this.#changed();
  }

  /**
   * Calls back soon after anything changed that readiness depends on, with the versions among it, until the function that this
   * gives is called.
   */
  onStateChange(listener: (changed: ReadonlySet<ModelEntry>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // The listeners are called once for several changes that belong together.
  #changed(entry?: ModelEntry): void {
    if (this.#listeners.size === 0) return;
    if (this.#changes === undefined) {
      const changes = (this.#changes = new Set());
      queueMicrotask(() => {
        this.#changes = undefined;
        for (const listener of this.#listeners) listener(changes);
      });
    }
    if (entry !== undefined) this.#changes.add(entry);
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

  get routes(): ReadonlyMap<string, ModelVersion> {
    return this.repository.routes;
  }

  /** The configuration and the versions to report. Throws NOT_FOUND, UNAVAILABLE or INVALID_ARG. */
  modelMetadata(
    name: string,
    version: string,
  ): { readonly config: CompleteModelConfig; readonly versions: readonly string[] } {
    const { config } = this.resolve(name, version);
    return { config, versions: version === '' ? this.repository.readyVersions(name) : [String(config.version)] };
  }

  /** The model that a request is decoded for and then runs on. Throws NOT_FOUND, UNAVAILABLE or INVALID_ARG. */
  resolve(name: string, version: string): ResolvedModel {
    try {
      return this.repository.resolve(name, version);
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  // Before everything is bound nobody knows what there will be: clients try again after UNAVAILABLE, not after NOT_FOUND. In
  // Triton's words, whose ports refuse all that comes so early.
  #refusal(error: unknown): unknown {
    if (this.#state !== 'starting' || TritonError.from(error).code !== 'NOT_FOUND') return error;
    return new TritonError('UNAVAILABLE', 'Server not ready', { cause: error });
  }

  #model({ modelName, modelVersion }: ModelInferRequest): Model {
    try {
      return this.repository.get(modelName, modelVersion);
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  /** All figures that metrics show. */
  measure(): { readonly models: readonly Model[]; readonly cache: ResponseCache | undefined } {
    return { models: this.repository.loadedModels(), cache: this.cache };
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

  /** Loads a model for a client, see {@link ClientLoads.load}. */
  loadModel(name: string, parameters: LoadParameters, client?: LoadingClient): Promise<void> {
    return this.#loads.load(name, parameters, client);
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

  /** Runs a request, on the `load` of a model that it was completed for. Never throws: whatever is wrong goes to the sink, possibly before this returns. */
  infer(request: ModelInferRequest, sink: ResponseSink, load?: number): InflightRequest {
    let trace: RequestTrace | undefined;
    try {
      const model = (load === undefined ? undefined : this.repository.loaded(load)) ?? this.#model(request);
      if (this.#state !== 'ready' && !this.#takes(request, model)) throw model.stopping(request.id);
      trace = this.#traces?.begin(request, model.config.version);
      return model.infer(request, sink, trace);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      trace?.refused(error);
      sink.fail(error, true);
      return NOTHING_TO_CANCEL;
    }
  }

  /** Counts a request that could not be completed for this load of a model. */
  refused(load: number, { code }: TritonError): void {
    this.repository.loaded(load)?.statistics.recordRefusal(code);
  }

  /** Whether a stop that has begun leaves room for a request. */
  #takes(request: ModelInferRequest, model: Model): boolean {
    if (this.#state === 'exiting') return false;
    // The callable of a live sequence may call other models.
    return this.#state !== 'finishing' || request.callers !== undefined || model.continues(request);
  }

  /** Not ready any more, while it goes on serving: load balancers send their requests elsewhere from now on. */
  leave(): void {
    if (this.#isEnding) return;
    this.#state = 'leaving';
    this.#changed();
  }

  get #isEnding(): boolean {
    return this.#state === 'leaving' || this.#state === 'finishing' || this.#state === 'exiting';
  }

  /**
   * From now on takes only requests that continue live sequences, and what their callables ask other models. Resolves when no
   * sequence lives.
   */
  async finishSequences(): Promise<void> {
    this.#state = 'finishing';
    this.#changed();
    await Promise.all(this.repository.runningModels().map((model) => model.sequencesEnded()));
  }

  /** Takes no requests any more. Resolves when the accepted ones have ended. */
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
