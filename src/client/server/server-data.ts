// The data that a ServerClient gives and takes, the same over both protocols. Names are Triton's in camelCase; its integers are numbers.

import type { Plain } from '../../protocol/plain-message.js';

export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

/** A tensor of a model's configuration. */
export interface ConfiguredTensor {
  readonly name: string;
  /** `TYPE_FP32`, `TYPE_STRING`, … */
  readonly dataType: string;
  /** Without the batch axis. */
  readonly dims: readonly number[];
  readonly [member: string]: Plain;
}

/** A model's configuration: Triton's ModelConfig with all its members. */
export interface ServedModelConfig {
  readonly name: string;
  readonly backend: string;
  readonly platform: string;
  /** 0 when tensors have no batch axis. */
  readonly maxBatchSize: number;
  readonly input: readonly ConfiguredTensor[];
  readonly output: readonly ConfiguredTensor[];
  readonly [member: string]: Plain;
}

/** How often something happened, and how many nanoseconds it took altogether. */
export interface CountAndTime {
  readonly count: number;
  readonly ns: number;
  readonly [member: string]: Plain;
}

/** Statistics of one version of a model: Triton's ModelStatistics with all its members. */
export interface ServedModelStatistics {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly lastInference: number;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly inferenceStats: {
    readonly success: CountAndTime;
    readonly fail: CountAndTime;
    readonly queue: CountAndTime;
    readonly computeInput: CountAndTime;
    readonly computeInfer: CountAndTime;
    readonly computeOutput: CountAndTime;
    readonly [member: string]: Plain;
  };
  readonly [member: string]: Plain;
}

export interface RepositoryModel {
  readonly name: string;
  /** '' when no version is known. */
  readonly version: string;
  /** `READY`, `UNAVAILABLE`, `LOADING`, `UNLOADING`, or ''. */
  readonly state: string;
  readonly reason: string;
}

/** The configuration and files to load in place of the repository's. */
export interface ModelLoad {
  /** The configuration, as JSON or as an object for JSON.stringify. */
  readonly config?: string | object;
  /** Files by their path in the model's folder, `1/model.onnx`. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

export interface ServedTraceSettings {
  readonly level: readonly string[];
  readonly rate: number;
  readonly count: number;
  readonly logFrequency: number | undefined;
  readonly file: string | undefined;
  readonly mode: string | undefined;
}

/** Settings that are left out stay unchanged. Null restores the value that the server, or for a model its own, has set. */
export interface TraceSettingsUpdate {
  readonly level?: readonly string[] | null;
  readonly rate?: number | null;
  readonly count?: number | null;
  readonly logFrequency?: number | null;
}

export interface ServedLogSettings {
  readonly file: string;
  readonly info: boolean;
  readonly warning: boolean;
  readonly error: boolean;
  readonly verboseLevel: number;
  /** `default`, `ISO8601`, or of a TSTriton server `json`. */
  readonly format: string;
}

/** Settings that are left out stay unchanged. */
export type LogSettingsUpdate = Partial<ServedLogSettings>;

/** System shared memory of the server's machine. */
export interface SharedMemoryRegion {
  readonly name: string;
  /** As shm_open takes it, `/name`. */
  readonly key: string;
  /** Default 0. */
  readonly offset?: number;
  readonly byteSize: number;
}
