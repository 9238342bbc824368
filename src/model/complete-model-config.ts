// A model's configuration, complete: plain data that crosses threads, answers metadata and configuration
// requests, and drives validation and scheduling. `complete-model.ts` makes it from what the user declared.

import type { Datatype, Dtype } from '../tensor/dtype.js';
import type { CompleteDynamicBatcher } from './complete-batcher.js';
import type { CompleteWarmup } from './model-warmup.js';
import type { VersionPolicy } from './version-policy.js';

export interface CompleteTensorSpec {
  readonly name: string;
  readonly dtype: Dtype;
  readonly datatype: Datatype;
  /** Without the batch axis; -1 stands for any size. */
  readonly shape: readonly number[];
  readonly optional: boolean;
  /** Of outputs: names of the values by their index. */
  readonly labels?: readonly string[];
}

/** What the file of a model's configuration says beside what the server works with. */
export interface FileConfig {
  readonly platform: string;
  readonly backend: string;
  /** Members of the ModelConfig message, as the model configuration shows them. */
  readonly shown: Readonly<Record<string, unknown>>;
  /** The same of inputs and outputs, by their names. */
  readonly shownTensors: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface CompleteModelConfig {
  readonly name: string;
  readonly version: number;
  readonly inputs: readonly CompleteTensorSpec[];
  readonly outputs: readonly CompleteTensorSpec[];
  /** Whether the inputs were declared as a list: callables get them by position too. */
  readonly listsInputs?: boolean;
  /** Largest number of rows of a batch; 0 when tensors have no batch axis. */
  readonly maxBatchSize: number;
  /** Undefined: each request executes alone. */
  readonly dynamicBatching: CompleteDynamicBatcher | undefined;
  readonly instanceCount: number;
  /** Batches that may run at the same time on one instance. */
  readonly concurrency: number;
  readonly decoupled: boolean;
  /** Whether answers are kept and given again. */
  readonly responseCache: boolean;
  /** How long an execution may take; 0 or undefined: any time. */
  readonly executionTimeoutMicroseconds?: number;
  /** Whether a failed batch is run again, one request at a time. */
  readonly isolateFailures?: boolean;
  readonly strict: boolean;
  /** Undefined: every bound version is served. */
  readonly versionPolicy?: VersionPolicy;
  readonly modelWarmup?: readonly CompleteWarmup[];
  /** Of a model from a model repository: the parameters of its configuration, for its callable to read. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Of a model from a model repository. */
  readonly file?: FileConfig;
}

/** What tells bound models apart: their name and version. */
export function modelKey({ name, version }: Pick<CompleteModelConfig, 'name' | 'version'>): string {
  return `${name}/${version}`;
}
