// The engine as every frontend sees it. Only data passes between them, so a frontend could live in another thread than the
// engine. The engine keeps snapshots of frequent answers up to date. Rare answers may come later.

import type { LoadingClient, LoadParameters } from '../core/client-loads.js';
import type { ResolvedModel } from '../core/model-entry.js';
import type { ModelVersion } from '../core/model-routes.js';
import type { InflightRequest, ResponseSink } from '../core/response-sink.js';
import type { SharedMemoryRange } from '../core/shared-memory/shared-memory-range.js';
import type { TritonError } from '../errors.js';
import type { LogSettings } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest } from '../model/exchange.js';
import type { ModelStatistics } from '../model/model-statistics.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { SharedMemoryReference, SystemSharedMemoryRegion } from '../model/shared-memory.js';
import type { TraceSettings, TraceUpdate } from '../observability/traces.js';
import type { MeasuredMetrics } from './measured-metrics.js';

/** An answer, which an engine in the same thread gives at once. */
export type Later<T> = T | Promise<T>;

export interface ServedCore {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
  readonly live: boolean;
  readonly exiting: boolean;
  isReady(): boolean;
  isModelReady(name: string, version: string): boolean;
  /** Calls `listener` soon after each change that may affect readiness. The function that it returns stops the calls. */
  onStateChange(listener: () => void): () => void;
  /** The models' own routes: the version that answers each path. A change makes another map. */
  readonly routes: ReadonlyMap<string, ModelVersion>;
  /** Throws NOT_FOUND, UNAVAILABLE or INVALID_ARG, as do all methods that take a name and a version. */
  resolve(name: string, version: string): ResolvedModel;
  modelMetadata(
    name: string,
    version: string,
  ): { readonly config: CompleteModelConfig; readonly versions: readonly string[] };
  /** Whether requests may be traced. If so, frontends say which trace a request is in. */
  readonly traces: boolean;

  /** `load`: the load of the model that the request was completed for. */
  infer(request: ModelInferRequest, sink: ResponseSink, load?: number): InflightRequest;

  /** Counts a request that could not be completed for this load of a model. */
  refused(load: number, error: TritonError): void;

  /** Returns all figures that metrics show. */
  measure(): MeasuredMetrics;
  statistics(name: string, version: string): Later<readonly ModelStatistics[]>;
  loadModel(name: string, parameters: LoadParameters, client?: LoadingClient): Promise<void>;
  readonly models: {
    index(readyOnly: boolean): Later<readonly RepositoryModel[]>;
    unload(name: string): Later<void>;
  };
  traceSettings(model: string): Later<TraceSettings>;
  updateTraceSettings(model: string, update: TraceUpdate): Later<TraceSettings>;
  readonly logSettings: {
    readonly file: string;
    /** Changes the given settings, and returns all of them. */
    update(settings: Partial<LogSettings>): Later<LogSettings>;
  };
  readonly sharedMemory: {
    register(region: SystemSharedMemoryRegion): Later<void>;
    unregister(name: string): Later<void>;
    unregisterAll(): Later<void>;
    regions(): Later<readonly SystemSharedMemoryRegion[]>;
    region(name: string): Later<SystemSharedMemoryRegion>;
    /** Opens a range for one request. The frontend's thread reads it. */
    use(reference: SharedMemoryReference): SharedMemoryRange;
  };
}

/** Passes an engine's answer to `use`, at once if the answer is here. */
export function whenHere<T, R>(answer: Later<T>, use: (answer: T) => Later<R>): Later<R> {
  return answer instanceof Promise ? answer.then(use) : use(answer);
}

/** What clients without a wire need of a server that runs in their thread. */
export interface InProcessRun {
  readonly core: ServedCore;
  /** `grpcHeaderForwardPattern`: they are served as gRPC's clients are. */
  readonly headerForwardPattern: string | undefined;
}
