// The engine as every frontend sees it. Only data passes here, so that a frontend could live in another thread than the
// engine. What is asked often is a snapshot that the engine keeps current; what is done seldom may come later.

import type { LoadParameters } from '../core/inference-server.js';
import type { ResolvedModel } from '../core/model-entry.js';
import type { InflightRequest, ResponseSink } from '../core/response-sink.js';
import type { SharedMemoryRange } from '../core/shared-memory/shared-memory-range.js';
import type { LogSettings } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest } from '../model/exchange.js';
import type { ModelStatistics } from '../model/model-statistics.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { SharedMemoryReference, SystemSharedMemoryRegion } from '../model/shared-memory.js';
import type { TraceSettings, TraceUpdate } from '../model/traces.js';

/** An answer that an engine in the same thread gives at once. */
export type Later<T> = T | Promise<T>;

export interface ServedCore {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
  readonly live: boolean;
  readonly exiting: boolean;
  isReady(): boolean;
  isModelReady(name: string, version: string): boolean;
  /** Calls back soon after anything changed that readiness depends on, until the function that this gives is called. */
  onStateChange(listener: () => void): () => void;
  /** Throws NOT_FOUND, UNAVAILABLE or INVALID_ARG, as all that take a name and a version. */
  resolve(name: string, version: string): ResolvedModel;
  /** Whether a load of a model still takes requests. */
  serves(load: number): boolean;
  modelMetadata(
    name: string,
    version: string,
  ): { readonly config: CompleteModelConfig; readonly versions: readonly string[] };
  /** Whether requests may be traced: frontends say then which trace they are in. */
  readonly traces: boolean;

  /** `load`: the model that the request was completed for. */
  infer(request: ModelInferRequest, sink: ResponseSink, load?: number): InflightRequest;

  statistics(name: string, version: string): Later<readonly ModelStatistics[]>;
  loadModel(name: string, parameters: LoadParameters): Promise<void>;
  readonly models: {
    index(readyOnly: boolean): Later<readonly RepositoryModel[]>;
    unload(name: string): Later<void>;
  };
  traceSettings(model: string): Later<TraceSettings>;
  updateTraceSettings(model: string, update: TraceUpdate): Later<TraceSettings>;
  readonly logSettings: {
    readonly file: string;
    /** Changes what is mentioned, and tells the result. */
    update(settings: Partial<LogSettings>): Later<LogSettings>;
  };
  readonly sharedMemory: {
    register(region: SystemSharedMemoryRegion): Later<void>;
    unregister(name: string): Later<void>;
    unregisterAll(): Later<void>;
    regions(): Later<readonly SystemSharedMemoryRegion[]>;
    region(name: string): Later<SystemSharedMemoryRegion>;
    /** A range for one request, which is read in the thread of the frontend. */
    use(reference: SharedMemoryReference): SharedMemoryRange;
  };
}

/** Goes on with what an engine answers, at once when it is here. */
export function whenHere<T, R>(answer: Later<T>, use: (answer: T) => Later<R>): Later<R> {
  return answer instanceof Promise ? answer.then(use) : use(answer);
}
