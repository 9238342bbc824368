// Declares a model's complete configuration: plain data that crosses threads, answers metadata and configuration
// requests, and drives validation and scheduling. `complete-model.ts` makes it from the user's declaration.

import type { Datatype, Dtype } from '../tensor/dtype.js';
import type { CompleteDynamicBatcher } from './complete-batcher.js';
import type { CompleteWarmup } from './model-warmup.js';
import type { OpenAiEndpoint } from './openai.js';
import type { SequenceControl } from './sequence-batching.js';
import type { BoxForm } from './tensor-spec.js';
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
  /** How plain JSON carries the elements of BYTES tensors; undefined: as text. */
  readonly contentEncoding?: 'base64';
  readonly description?: string;
  /** Of outputs whose rows begin with boxes. */
  readonly boxes?: BoxForm;
}

/** An input that the server makes. */
export interface CompleteControl extends CompleteTensorSpec {
  readonly control: SequenceControl['control'];
  /** Of START, END and READY. */
  readonly falseTrue: readonly [number, number];
}

export interface CompleteSequenceState extends CompleteTensorSpec {
  readonly output: string;
  /** What a sequence begins with, without the batch axis, in the protocol's raw form. */
  readonly initial: { readonly shape: readonly number[]; readonly bytes: Uint8Array };
}

export interface CompleteSequenceBatching {
  /** Undefined where none was named, which `/config` shows: direct. */
  readonly strategy: 'direct' | 'oldest' | undefined;
  readonly maxSequenceIdleMicroseconds: number;
  readonly controls: readonly CompleteControl[];
  readonly states: readonly CompleteSequenceState[];
  /** Whether a function makes an object for each sequence. */
  readonly keepsObjects: boolean;
  readonly iterative: boolean;
  readonly maxCandidateSequences: number;
  /** Empty where no strategy or no batch axis asks for any. */
  readonly preferredBatchSize: readonly number[];
  readonly maxQueueDelayMicroseconds: number;
  readonly minimumSlotUtilization: number;
  readonly preserveOrdering: boolean;
  readonly maxLiveSequences: number;
  readonly emptySlots: boolean;
}

/** Members of a configuration file that the server shows but does not use. */
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
  /** Undefined: sequences are the callable's business. */
  readonly sequenceBatching?: CompleteSequenceBatching | undefined;
  readonly instanceCount: number;
  /** Batches that may run at the same time on one instance. */
  readonly concurrency: number;
  readonly decoupled: boolean;
  /** Whether the response cache keeps answers. */
  readonly responseCache: boolean;
  /** How long an execution may take; 0 or undefined: any time. */
  readonly executionTimeoutMicroseconds?: number;
  /** Whether a failed batch is run again, one request at a time. */
  readonly isolateFailures?: boolean;
  readonly strict: boolean;
  /** The path under which the model answers plain JSON; undefined: under none. */
  readonly route?: string;
  readonly description?: string;
  /** Undefined: every bound version is served. */
  readonly versionPolicy?: VersionPolicy;
  readonly modelWarmup?: readonly CompleteWarmup[];
  /** The endpoint of the OpenAI API that the model serves; undefined when it serves none. */
  readonly openai?: OpenAiEndpoint;
  /** Of a model from a model repository: the parameters of its configuration, for its callable to read. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Of a model from a model repository. */
  readonly file?: FileConfig;
}

/** The key of a bound model: its name and version. */
export function modelKey({ name, version }: Pick<CompleteModelConfig, 'name' | 'version'>): string {
  return `${name}/${version}`;
}
